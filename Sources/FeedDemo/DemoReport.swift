import Diagnostics
import Feed
import FeedClient
import FeedStatus
import FeedStore
import FeedTools

package struct DemoReport: Sendable {
  let published: PublishReport
  let daemon: DaemonReport
  let comparison: DemoComparison
  /// The number of records that the follower could not apply.
  let faults: Int

  /// Whether the follower's feeds equal the store's.
  package var isSame: Bool { comparison.isSame && faults == 0 && published.undelivered == 0 }

  package var text: String {
    let counters = daemon.counters
    var text =
      "\n\(Quantity.count(published.records)) records were published, "
      + "\(Quantity.count(counters.records)) applied, "
      + "\(counters.rejectedRecords) rejected; \(Quantity.count(counters.publishedChangesets)) changesets in "
      + "\(counters.flushes) transactions: \(Quantity.bytes(counters.inputBytes)) in, "
      + "\(Quantity.bytes(counters.outputBytes)) out.\n\n"
    let width = comparison.rows.map(\.feed.count).max() ?? 0
    for row in comparison.rows {
      let name = row.feed + String(repeating: " ", count: width - row.feed.count)
      text += "  \(name)  \(row.store)  \(row.store == row.replica ? "same" : "DIFFERENT: " + row.replica)\n"
    }
    text += "\n"
    if isSame {
      text += "The follower's replicas are the store's feeds: the same revisions, counts and checksums.\n"
    } else {
      for difference in comparison.differences { text += "DIFFERENT: \(difference)\n" }
      if faults > 0 { text += "The follower could not apply \(faults) records.\n" }
      if published.undelivered > 0 { text += "\(published.undelivered) records were not delivered.\n" }
    }
    return text
  }
}

/// Compares the store's feeds with a follower's replicas.
struct DemoComparison: Sendable, Equatable {
  /// The differences in words; empty if there are none.
  private(set) var differences: [String] = []
  private(set) var rows: [Row] = []

  /// One feed, in the store and in the follower.
  struct Row: Sendable, Equatable {
    var feed: String
    var store: String
    var replica: String
  }

  init(store: [FeedSummary], replicas: [FeedDescription]) {
    let feeds = Dictionary(store.map { ($0.feed, $0) }) { first, _ in first }
    let copies = Dictionary(replicas.map { ($0.feed, $0) }) { first, _ in first }
    if feeds.count != store.count || copies.count != replicas.count {
      differences.append("a feed is in more than one partition")
    }
    for feed in Set(feeds.keys).union(copies.keys).sorted() {
      let (one, other) = (feeds[feed], copies[feed])
      let store = one.map { ($0.partition, $0.revision, $0.sectionCount, $0.itemCount, $0.checksum) }
      let replica = other.map { ($0.partition, $0.revision, $0.sectionCount, $0.itemCount, $0.checksum) }
      let mark = other?.outdated == nil ? "" : ", stale"
      let row = Row(feed: feed, store: Self.text(store), replica: Self.text(replica) + mark)
      rows.append(row)
      if row.store != row.replica {
        differences.append("\(feed): the store has \(row.store), the follower \(row.replica)")
      }
    }
  }

  var isSame: Bool { differences.isEmpty }

  /// - Parameter feed: partition, revision, numbers of sections and items, and checksum.
  private static func text(_ feed: (Int32, UInt64, Int, Int, UInt32)?) -> String {
    guard let (partition, revision, sections, items, checksum) = feed else { return "nothing" }
    let sum = Replica.hexadecimal(checksum)
    return "partition \(partition), revision \(revision), \(sections) sections, \(items) items, \(sum)"
  }
}
