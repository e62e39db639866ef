import Feed
import FeedStore
import FeedTestSupport
import Testing

@Suite struct OracleAgreementTests {
  /// What a random run is tried with: the usual thresholds, and some that make rare paths common.
  enum Setting: CaseIterable {
    case usual, everyRecord, longWindows, smallParts, keyframes, tightLimits, differencesOnly

    var options: FeedStoreOptions {
      var options = FeedStoreOptions()
      switch self {
      case .usual: break
      case .everyRecord: options.coalescing.windowMilliseconds = 0
      case .longWindows:
        options.coalescing.windowMilliseconds = 3_600_000
        options.coalescing.maxRecords = 200
      case .smallParts:
        options.limits.maxDataBytes = 300
        options.output.maxMessageBytes = 1200
      case .keyframes:
        options.keyframe.maxDeltas = 3
        options.keyframe.maxBytesRatio = 0.5
      case .tightLimits:
        options.limits.maxItems = 12
        options.limits.maxSections = 4
        options.limits.maxEvents = 3
        options.limits.maxDepth = 5
        options.limits.maxIdBytes = 40
        options.limits.maxDataBytes = 60
        options.limits.maxRecordBytes = 600
        options.coalescing.maxBytes = 5000
      case .differencesOnly:
        options.planner.maxChangedFraction = 100
        options.planner.maxKindFraction = 100
        options.planner.maxBytesRatio = 1000
        options.planner.minimumItems = 0
      }
      return options
    }
  }

  @Test(arguments: Setting.allCases, 1...3 as ClosedRange<UInt64>)
  func `random records come to what the oracle says`(setting: Setting, seed: UInt64) async throws {
    var generatorOptions = GeneratorOptions()
    generatorOptions.limits = setting.options.limits
    var generator = RecordGenerator(seed: seed, options: generatorOptions)
    var driver = StoreDriver(setting.options)
    do {
      try await driver.run(generator.records(1500))
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }

  @Test(arguments: Setting.allCases, 31...32 as ClosedRange<UInt64>)
  func `a flush that is rolled back and taken again comes to the same`(
    setting: Setting,
    seed: UInt64
  ) async throws {
    var generatorOptions = GeneratorOptions()
    generatorOptions.limits = setting.options.limits
    var generator = RecordGenerator(seed: seed, options: generatorOptions)
    var driver = StoreDriver(setting.options)
    driver.rollsBack = true
    do {
      try await driver.run(generator.records(1000))
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }
}
