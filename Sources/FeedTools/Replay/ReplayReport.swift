public import Feed
public import FeedStore
import Service

/// The result of a replay.
public struct ReplayReport: Sendable {
  public let counters: StoreCounters
  /// The fields of events that had no effect.
  public let ignoredFields: IgnoredFields
  /// The number of feeds at the end.
  public let feedCount: Int
  /// Their size in bytes, as counted for `limits.maxStateBytes`.
  public let stateBytes: Int
  /// The size of the input files, in bytes.
  public let bytesRead: Int64
  public let nanoseconds: Int64
  /// Whether rejected records were written.
  public let keepsRejected: Bool

  public var rejectedRecords: Int { counters.rejectedRecords }

  /// The report as text, for standard error.
  public var text: String {
    var table = ReportTable("replay")
    table.add("records", count: counters.records)
    table.add("events", count: counters.events)
    table.add("feeds", count: feedCount)
    table.add("state", bytes: stateBytes)
    table.add(counters)
    table.add("ignored fields", text: ignoredText)
    table.add("bytes in", bytes: bytesRead)
    table.add("bytes out", bytes: counters.outputBytes)
    table.add("time", nanoseconds: nanoseconds)
    table.add("rate", count: counters.records, perNanoseconds: nanoseconds)
    var text = table.text
    if counters.rejectedRecords > 0, !keepsRejected {
      text += "the rejected records were not kept; --rejected FILE keeps them with the reasons\n"
    }
    return text
  }

  /// `section.upsert items 3, item.upsert colour 1`: the most frequent ones.
  private var ignoredText: String {
    let sorted = ignoredFields.counts.sorted {
      ($1.value, $0.key.operation, $0.key.field) < ($0.value, $1.key.operation, $1.key.field)
    }
    if sorted.isEmpty { return "none" }
    let shown = sorted.prefix(Self.mostIgnoredFields).map {
      "\($0.key.operation) \(UpdateText.printable($0.key.field)) \(Quantity.count($0.value))"
    }
    let rest = sorted.count - shown.count
    return shown.joined(separator: ", ") + (rest > 0 ? ", and \(rest) more" : "")
  }

  private static let mostIgnoredFields = 20
}
