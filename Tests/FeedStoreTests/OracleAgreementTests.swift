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
  ) async {
    await compare(setting, seed, setting.generator, count: 1500)
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(61...66))
  func `the store orders and bounds sections as the oracle does`(
    setting: RandomSetting,
    seed: UInt64
  ) async {
    await compare(setting, seed, setting.generatorOfOrders, count: 1000, rollsBack: seed % 2 == 0)
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(81...86))
  func `the store ends items as the oracle does`(setting: RandomSetting, seed: UInt64) async {
    var options = seed.isMultiple(of: 2) ? setting.generatorOfOrders : setting.generator
    options.hasEnds = true
    await compare(setting, seed, options, count: 1000)
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(31...32))
  func `a flush that is rolled back and repeated publishes the same`(
    setting: RandomSetting,
    seed: UInt64
  ) async {
    await compare(setting, seed, setting.generator, count: 1000, rollsBack: true)
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(81...84))
  func `the store decides conditions as the oracle does`(setting: RandomSetting, seed: UInt64) async {
    var options = seed % 4 < 2 ? setting.generator : setting.generatorOfOrders
    options.hasConditions = true
    options.badPercent = 8
    await compare(setting, seed, options, count: 1500, rollsBack: seed % 2 == 0)
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(91...96))
  func `the store shows contents as the oracle does`(setting: RandomSetting, seed: UInt64) async {
    var options = seed % 2 == 0 ? setting.generator : setting.generatorOfOrders
    options.hasContents = true
    options.hasEnds = seed % 3 == 1
    options.hasConditions = seed % 3 == 0
    options.badPercent = 6
    await compare(setting, seed, options, count: 1500, rollsBack: seed % 4 < 2 && !options.hasEnds)
  }

  private func compare(
    _ setting: RandomSetting,
    _ seed: UInt64,
    _ options: GeneratorOptions,
    count: Int,
    rollsBack: Bool = false
  ) async {
    var generator = RecordGenerator(seed: seed, options: options)
    var storeOptions = setting.options
    if options.hasContents { storeOptions.topics.contents = "feeds.contents" }
    var driver = StoreDriver(storeOptions)
    driver.rollsBack = rollsBack
    do {
      try await driver.run(generator.records(count))
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }
}
