import Feed
public import FeedVerification
import Service

/// What was verified, and how many faults there were.
public struct VerificationReport: Sendable {
  public let counts: VerificationCounts
  /// Faults that were told: the first of each feed, and of lines that are none.
  public let faults: Int
  public let nanoseconds: Int64

  public var isRight: Bool { faults == 0 }

  /// The report in words, for standard error.
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
