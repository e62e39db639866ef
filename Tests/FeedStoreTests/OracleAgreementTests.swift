import ChangesetTestSupport
import Feed
import FeedStore
import Oracle
import Testing

@Suite struct OracleAgreementTests {
  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(1...3))
  func `the store publishes what the oracle does for random records`(
    setting: RandomSetting,
    seed: UInt64
  ) async throws {
    var generator = RecordGenerator(seed: seed, options: setting.generator)
    var driver = StoreDriver(setting.options)
    do {
      try await driver.run(generator.records(1500))
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(61...66))
  func `the store orders and bounds sections as the oracle does`(
    setting: RandomSetting,
    seed: UInt64
  ) async throws {
    var generator = RecordGenerator(seed: seed, options: setting.generatorOfOrders)
    var driver = StoreDriver(setting.options)
    driver.rollsBack = seed % 2 == 0
    do {
      try await driver.run(generator.records(1000))
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(31...32))
  func `a flush that is rolled back and repeated publishes the same`(
    setting: RandomSetting,
    seed: UInt64
  ) async throws {
    var generator = RecordGenerator(seed: seed, options: setting.generator)
    var driver = StoreDriver(setting.options)
    driver.rollsBack = true
    do {
      try await driver.run(generator.records(1000))
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }
}
