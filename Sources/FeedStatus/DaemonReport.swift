package import Diagnostics
import Feed
package import FeedStore

/// The counters of a daemon, and its feeds at the end.
package struct DaemonReport: Sendable, Equatable {
  /// The counters, including lost partitions.
  package private(set) var counters: StoreCounters
  /// The feeds at the end, by partition and id.
  package private(set) var feeds: [FeedSummary] = []
  /// The outcomes of the rows of each source of `feedstore ingest`; nil for a daemon.
  package private(set) var rows: [String: [String: Int]]?

  package init(counters: StoreCounters = StoreCounters(), feeds: [FeedSummary] = []) {
    self.counters = counters
    self.feeds = feeds
  }

  package init(_ statistics: WorkerStatistics) {
    counters = statistics.counters
    rows = statistics.rows
  }

  /// Adds another worker's report.
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

/// An event of a running daemon. Reported on the worker's thread: handle it quickly.
package enum DaemonEvent: Sendable, Equatable {
  /// The embedded broker listens at this address.
  case listening(bootstrapServers: String)
  /// Feeds are served over HTTP at this address.
  case serving(url: String)
  /// The number of assigned input partitions; their feeds are restored next.
  case assigned(partitions: Int)
  /// The number of input partitions whose feeds have the last published state.
  case restored(partitions: Int, feeds: Int)
  /// The feeds of a partition could not be restored: its input is neither read nor published.
  case stopped(partition: Int32)
  /// Input is read from now on.
  case running
  /// The number of records of a poll; they are applied before anything else happens.
  case received(records: Int)
  /// A flush was committed, with the counters since the start.
  case committed(StoreCounters)
  /// A transaction was aborted: its input will be read again.
  case withdrawn
  /// The last published state is unknown: the producer is replaced, and feeds are restored.
  case recovering
  /// The partitions were released, and the state of their feeds with them.
  case released
}

extension ReportTable {
  /// Adds the store's counters: changesets, reloads, entries, rejects and no-ops.
  package mutating func add(_ counters: StoreCounters) {
    add("changesets", text: Self.list(ChangesetMode.allCases) { ($0.rawValue, counters.changesets[$0]) })
    add("reloads", text: Self.list(ReloadReason.allCases) { ($0.rawValue, counters.reloads[$0]) })
    let entries = counters.entries
    let kinds = [
      ("delete", entries.deletes), ("insert", entries.inserts), ("move", entries.moves),
      ("reconfigure", entries.reconfigures), ("reload", entries.reloads),
    ]
    add("entries", text: Self.list(kinds) { ($0.0, $0.1) })
    add("rejected", text: Self.list(RejectCode.allCases) { ($0.rawValue, counters.rejects[$0]) })
    add("no-ops", text: Self.list(NoOpReason.allCases) { ($0.rawValue, counters.noOps[$0]) })
    add("cut items", count: counters.cutItems)
    add("ended items", count: counters.endedItems)
  }

  /// `a 1, b 2`: the counts, without zeros.
  private static func list<Element>(_ elements: [Element], _ count: (Element) -> (String, Int?)) -> String {
    let parts = elements.compactMap { element -> String? in
      let (name, number) = count(element)
      guard let number, number > 0 else { return nil }
      return "\(name) \(Quantity.count(number))"
    }
    return parts.isEmpty ? "none" : parts.joined(separator: ", ")
  }
}
