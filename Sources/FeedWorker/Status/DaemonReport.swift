public import FeedStore
public import Service

/// What a daemon did, and the feeds it had at the end.
public struct DaemonReport: Sendable, Equatable {
  /// What was done, with the partitions it had earlier as well.
  public let counters: StoreCounters
  /// The feeds at the end, by partition and id.
  public let feeds: [FeedSummary]

  package init(counters: StoreCounters = StoreCounters(), feeds: [FeedSummary] = []) {
    self.counters = counters
    self.feeds = feeds
  }

  /// What two workers have done, together.
  package func adding(_ other: DaemonReport) -> DaemonReport {
    DaemonReport(
      counters: counters.adding(other.counters),
      feeds: (feeds + other.feeds).sorted {
        $0.partition != $1.partition
          ? $0.partition < $1.partition : $0.feed.utf8.lexicographicallyPrecedes($1.feed.utf8)
      }
    )
  }

  /// The report as fields of a log line.
  public var fields: LogFields {
    [
      "records": counters.records, "events": counters.events, "feeds": feeds.count,
      "rejected": counters.rejects.values.reduce(0, +), "transactions": counters.flushes,
      "in": LogFigure.bytes(counters.inputBytes), "out": LogFigure.bytes(counters.outputBytes),
    ]
  }
}
