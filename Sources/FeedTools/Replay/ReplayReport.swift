public import FeedStore
import Service

/// The result of a replay.
public struct ReplayReport: Sendable {
  public let counters: StoreCounters
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
}
