public import Feed

/// The settings of a conformance vector: configuration keys with values, as in its file.
public struct ConformanceSettings: Sendable {
  /// Keys and values for `--set KEY=VALUE`, sorted by key.
  public let assignments: [(key: String, value: String)]
  public private(set) var limits = Limits()
  public private(set) var coalescing = OracleCoalescing()
  public private(set) var planner = PlannerThresholds()
  public private(set) var keyframes = KeyframePolicy()
  public private(set) var output = OutputOptions()

  /// - Parameter json: an object; nil for the defaults.
  /// - Throws: ``JudgeFailure`` for a key that vectors do not use.
  public init(_ json: OracleJSON?) throws(JudgeFailure) {
    var pairs: [(key: String, value: String)] = []
    if case .object(let members)? = json?.content {
      pairs = members.map { member in
        let text = member.value.string ?? member.value.minified
        return (String(decoding: member.name, as: UTF8.self), String(decoding: text, as: UTF8.self))
      }
    }
    assignments = pairs.sorted { $0.key < $1.key }
    for (key, value) in assignments { try set(key, value) }
  }

  private mutating func set(_ key: String, _ value: String) throws(JudgeFailure) {
    if key == "output.source" {
      output.source = value
      return
    }
    guard let number = Double(value) else { throw JudgeFailure("\(key): \(value) is not a number") }
    let count = Int(number)
    switch key {
    case "coalesce.window": coalescing.windowMilliseconds = count
    case "coalesce.idleWindow": coalescing.idleWindowMilliseconds = count
    case "coalesce.maxRecords": coalescing.maxRecords = count
    case "coalesce.maxBytes": coalescing.maxBytes = count
    case "planner.maxChanges": planner.maxChanges = count
    case "planner.maxChangedFraction": planner.maxChangedFraction = number
    case "planner.minimumItems": planner.minimumItems = count
    case "planner.maxKindFraction": planner.maxKindFraction = number
    case "planner.maxReloadRatio": planner.maxReloadRatio = number
    case "planner.maxBytesRatio": planner.maxBytesRatio = number
    case "keyframe.maxDeltas": keyframes.maxDeltas = count
    case "keyframe.maxBytesRatio": keyframes.maxBytesRatio = number
    case "output.maxMessageBytes": output.maxMessageBytes = count
    case "limits.maxIdBytes": limits.maxIdBytes = count
    case "limits.maxDataBytes": limits.maxDataBytes = count
    case "limits.maxItems": limits.maxItems = count
    case "limits.maxSections": limits.maxSections = count
    case "limits.maxEvents": limits.maxEvents = count
    case "limits.maxDepth": limits.maxDepth = count
    case "limits.maxRecordBytes": limits.maxRecordBytes = count
    case "limits.maxFeeds": limits.maxFeeds = count
    case "limits.maxStateBytes": limits.maxStateBytes = count
    default: throw JudgeFailure("vectors do not use the setting \(key); add it to ConformanceSettings")
    }
  }
}
