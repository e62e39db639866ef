package import FeedStore
package import Service

/// What a daemon did, and the feeds it had at the end.
package struct DaemonReport: Sendable, Equatable {
  /// What was done, with the partitions it had earlier as well.
  package private(set) var counters: StoreCounters
  /// The feeds at the end, by partition and id.
  package private(set) var feeds: [FeedSummary] = []
  /// What has become of the rows of each source of `feedstore ingest`; nil for a daemon.
  package private(set) var rows: [String: [String: Int]]?

  package init(counters: StoreCounters = StoreCounters(), feeds: [FeedSummary] = []) {
    self.counters = counters
    self.feeds = feeds
  }

  package init(_ statistics: WorkerStatistics) {
    counters = statistics.counters
    rows = statistics.rows
  }

  /// Adds what another worker has done.
  package mutating func add(_ other: DaemonReport) {
    counters.add(other.counters)
    feeds = (feeds + other.feeds).sorted(by: FeedSummary.precedes)
    rows = other.rows ?? rows
  }

  package var fields: LogFields {
    [
      "records": counters.records, "events": counters.events, "feeds": feeds.count,
      "rejected": counters.rejectedRecords, "transactions": counters.flushes,
      "in": LogFigure.bytes(counters.inputBytes), "out": LogFigure.bytes(counters.outputBytes),
    ]
  }
}

/// What a daemon tells while it runs. Told on the worker's thread: be quick.
package enum DaemonEvent: Sendable, Equatable {
  /// The embedded broker listens at this address.
  case listening(bootstrapServers: String)
  /// Feeds are served over HTTP at this address.
  case serving(url: String)
  /// The group has given it this many input partitions; their feeds are restored next.
  case assigned(partitions: Int)
  /// The number of input partitions whose feeds are what was published last.
  case restored(partitions: Int, feeds: Int)
  /// The feeds of a partition could not be restored: its input is not read, and nothing of it is published.
  case stopped(partition: Int32)
  /// Input is read from here on.
  case running
  /// The number of records that a poll brought; they are applied before anything else happens.
  case received(records: Int)
  /// A flush was committed; all that was done since the start.
  case committed(StoreCounters)
  /// A transaction was aborted: its input is read again.
  case withdrawn
  /// It is not known what was published last: the producer is replaced, and feeds are restored.
  case recovering
  /// The partitions are gone, and the state of their feeds with them.
  case released
}
