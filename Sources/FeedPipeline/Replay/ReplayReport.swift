import Feed
public import FeedStore
import Service

/// What a replay did.
public struct ReplayReport: Sendable {
  public let counters: StoreCounters
  /// Feeds that exist at the end.
  public let feedCount: Int
  /// Bytes of the input files.
  public let bytesRead: Int64
  public let nanoseconds: Int64
  /// Whether rejected records were written somewhere.
  public let keepsRejected: Bool

  public var rejectedRecords: Int { counters.rejectedRecords }

  /// The report in words, for standard error.
  public var text: String {
    var table = ReportTable("replay")
    table.add("records", count: counters.records)
    table.add("events", count: counters.events)
    table.add("feeds", count: feedCount)
    table.add(
      "changesets",
      text: Self.list(ChangesetMode.allCases) { ($0.rawValue, counters.changesets[$0]) }
    )
    table.add("reloads", text: Self.list(ReloadReason.allCases) { ($0.rawValue, counters.reloads[$0]) })
    let entries = counters.entries
    let kinds = [
      ("delete", entries.deletes), ("insert", entries.inserts), ("move", entries.moves),
      ("reconfigure", entries.reconfigures), ("reload", entries.reloads),
    ]
    table.add("entries", text: Self.list(kinds) { ($0.0, $0.1) })
    table.add("rejected", text: Self.list(RejectCode.allCases) { ($0.rawValue, counters.rejects[$0]) })
    table.add("no-ops", text: Self.list(NoOpReason.allCases) { ($0.rawValue, counters.noOps[$0]) })
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

  /// `a 1, b 2`: what was counted, leaving out what was not.
  private static func list<Element>(_ elements: [Element], _ count: (Element) -> (String, Int?)) -> String {
    let parts = elements.compactMap { element -> String? in
      let (name, number) = count(element)
      guard let number, number > 0 else { return nil }
      return "\(name) \(Quantity.count(number))"
    }
    return parts.isEmpty ? "none" : parts.joined(separator: ", ")
  }
}
