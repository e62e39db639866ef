import Feed
public import FeedStore
public import Oracle

/// Settings for random records: the defaults, and some that make rare paths common.
public enum RandomSetting: Sendable {
  case usual, everyRecord, longWindows, smallParts, smallPartsOfDifferences, keyframes, keyframesAlways,
    tightLimits, tightState, differencesOnly, noMinimum

  /// For comparing the store with the oracle.
  public static let ofStore: [RandomSetting] = [
    .usual, .everyRecord, .longWindows, .smallParts, .keyframes, .tightLimits, .tightState, .differencesOnly,
    .noMinimum,
  ]
  /// For the verification of output.
  public static let ofVerification: [RandomSetting] = [
    .usual, .everyRecord, .longWindows, .smallParts, .smallPartsOfDifferences, .keyframes, .keyframesAlways,
    .differencesOnly,
  ]

  public var options: FeedStoreOptions {
    var options = FeedStoreOptions()
    switch self {
    case .usual: break
    case .everyRecord: options.coalescing.windowMilliseconds = 0
    case .longWindows:
      options.coalescing.windowMilliseconds = 3_600_000
      options.coalescing.idleWindowMilliseconds = 3_600_000
      options.coalescing.maxRecords = 200
    case .smallParts:
      options.limits.maxDataBytes = 300
      options.output.maxMessageBytes = 1200
    case .smallPartsOfDifferences:
      options = RandomSetting.differencesOnly.options
      options.coalescing.windowMilliseconds = 2000
      options.keyframe.maxBytesRatio = 5
      options.limits.maxDataBytes = 300
      options.output.maxMessageBytes = 1200
    case .keyframes:
      options.keyframe.maxDeltas = 3
      options.keyframe.maxBytesRatio = 0.5
    case .keyframesAlways: options.keyframe.maxDeltas = 1
    case .tightLimits:
      options.limits.maxItems = 6
      options.limits.maxSections = 3
      options.limits.maxEvents = 3
      options.limits.maxDepth = 5
      options.limits.maxIdBytes = 40
      options.limits.maxDataBytes = 60
      options.limits.maxRecordBytes = 600
      options.coalescing.maxBytes = 5000
    case .tightState:
      // The feeds are three in each of two partitions.
      options.limits.maxFeeds = 2
      options.limits.maxStateBytes = 6_000
      options.limits.maxItems = 8
    case .differencesOnly:
      options.planner.maxChangedFraction = 100
      options.planner.maxKindFraction = 100
      options.planner.maxBytesRatio = 1000
      options.planner.minimumItems = 0
    case .noMinimum:
      options.planner.minimumItems = 0
      options.coalescing.windowMilliseconds = 20
    }
    return options
  }

  /// Records within the setting's limits.
  public var generator: GeneratorOptions {
    var generator = GeneratorOptions()
    generator.limits = options.limits
    return generator
  }

  /// The same, with sections that are ordered and bounded.
  public var generatorOfOrders: GeneratorOptions {
    var generator = GeneratorOptions.orderedSections
    generator.limits = options.limits
    return generator
  }

  /// The same, with larger feeds if changesets should have parts.
  public var generatorOfLargeFeeds: GeneratorOptions {
    var generator = generator
    switch self {
    case .smallParts, .smallPartsOfDifferences:
      generator.itemCount = 60
      generator.sectionCount = 8
    default: break
    }
    return generator
  }
}
