import Feed
public import FeedVerification
import Service

/// The result of a verification: what was verified, and the number of faults.
public struct VerificationReport: Sendable {
  public let counts: VerificationCounts
  /// The reported faults: the first of each feed, and of invalid lines.
  public let faults: Int
  public let nanoseconds: Int64

  public var isRight: Bool { faults == 0 }

  /// The report as text, for standard error.
  public var text: String {
    var table = ReportTable("verify")
    table.add("records", count: counts.records)
    for mode in ChangesetMode.allCases {
      table.add("  " + mode.rawValue, count: counts.changesets[mode] ?? 0)
    }
    table.add("  keyframes", count: counts.keyframes)
    table.add("  nulls", count: counts.nulls)
    table.add("feeds at the end", count: counts.feeds)
    table.add("feeds with a fault", count: counts.faultyFeeds)
    table.add("records not checked", count: counts.recordsPassedOver)
    table.add("faults", count: faults)
    table.add("bytes", bytes: counts.bytes)
    table.add("time", nanoseconds: nanoseconds)
    table.add("rate", count: counts.records, perNanoseconds: nanoseconds)
    return table.text
  }
}
