import Feed
package import FeedStore
import Service

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
