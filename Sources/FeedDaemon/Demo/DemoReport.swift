import FeedStore
import FeedTools
import FeedWorker
import Service

/// The result of a demo.
public struct DemoReport: Sendable {
  let published: PublishReport
  let daemon: DaemonReport
  let comparison: DemoComparison
  /// The number of records that the follower could not apply.
  let faults: Int

  /// Whether the follower's feeds equal the store's.
  public var isSame: Bool { comparison.isSame && faults == 0 && published.undelivered == 0 }

  /// The report as text.
  public var text: String {
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
