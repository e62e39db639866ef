import Foundation
import Testing

@testable import FeedStoreClient

struct SnapshotTests {
  private func view(_ sections: [(SectionID, [ItemID])]) -> FeedView {
    var view = FeedView(feed: "f", standing: .live)
    let drafts = sections.map { id, items in
      var draft = SectionDraft(id: id, dataText: "null")
      draft.items = items.map { FeedItem(id: $0, kind: "", section: id, dataText: "1") }
      return draft
    }
    view.state = FeedState(drafts: drafts, reusing: FeedState())
    return view
  }

  @Test func `edits are those of a diffable data source`() throws {
    var snapshot = FeedSnapshot(view([("top", ["a", "b", "c"]), ("more", [])]))
    let former = snapshot
    try snapshot.appendItems([.init("d")], toSection: "top")
    try snapshot.appendItems([.init("e", kind: "k", data: 2)])
    try snapshot.insertItems([.init("f"), .init("g")], beforeItem: "a")
    try snapshot.insertItems([.init("h")], afterItem: "a")
    try snapshot.moveItem("c", beforeItem: "a")
    try snapshot.moveItem("b", afterItem: "e")
    snapshot.deleteItems(["d", "unknown"])
    #expect(snapshot.itemIdentifiers(inSection: "top") == ["f", "g", "c", "a", "h"])
    #expect(snapshot.itemIdentifiers(inSection: "more") == ["e", "b"])
    #expect(snapshot.sectionIdentifier(containingItem: "b") == "more")
    try snapshot.appendSections(["z"])
    try snapshot.insertSections(["x", "y"], afterSection: "top")
    try snapshot.moveSection("top", afterSection: "more")
    try snapshot.moveSection("z", beforeSection: "x")
    snapshot.deleteSections(["y"])
    try snapshot.reconfigureItems([.init("a", data: "new")])
    #expect(snapshot.sectionIdentifiers == ["z", "x", "more", "top"])
    #expect(snapshot.numberOfItems == 7 && snapshot.itemIdentifiers.first == "e")
    // A value that is kept stays as it is.
    #expect(former.itemIdentifiers == ["a", "b", "c"])
  }

  @Test func `an edit that is not possible names a remedy and changes nothing`() {
    var view = view([("top", ["a", "b"])])
    var ordered = SectionDraft(id: "best", dataText: "null", order: [OrderKey(by: "/n", isDescending: false)])
    ordered.items = [FeedItem(id: "o", kind: "", section: "best", dataText: "1")]
    view.state = FeedState(drafts: view.sections.map(SectionDraft.init) + [ordered], reusing: view.state)
    let edits: [(SnapshotError.Code, String, (inout FeedSnapshot) throws -> Void)] = [
      (.unknownItem, "appendItems", { try $0.moveItem("a", beforeItem: "x") }),
      (.unknownItem, "appendItems", { try $0.reconfigureItems([.init("x")]) }),
      (.unknownSection, "appendSections", { try $0.appendItems([.init("n")], toSection: "x") }),
      (.unknownSection, "appendSections", { try $0.insertSections(["n"], beforeSection: "x") }),
      (.duplicateItem, "moveItem", { try $0.appendItems([.init("n"), .init("n")]) }),
      (.duplicateItem, "moveItem", { try $0.insertItems([.init("b")], afterItem: "a") }),
      (.duplicateSection, "moveSection", { try $0.appendSections(["top"]) }),
      (.selfMove, "another", { try $0.moveItem("a", afterItem: "a") }),
      (.selfMove, "another", { try $0.moveSection("top", afterSection: "top") }),
      (.orderedSection, "toSection", { try $0.moveItem("a", afterItem: "o") }),
    ]
    for (code, remedy, edit) in edits {
      var snapshot = FeedSnapshot(view)
      let error = #expect(throws: SnapshotError.self) { try edit(&snapshot) }
      #expect(error?.code == code && error?.message.contains(remedy) == true, "\(code)")
      #expect(SnapshotDifference(from: view.state, to: snapshot).events.isEmpty, "\(code)")
    }
  }

  /// The daemon is the oracle: it must come to the same list, and find no way with fewer moves.
  @Test(.enabled(if: Checkout.hasCommand))
  func `a difference makes the list of the snapshot with the fewest moves`() throws {
    var random = SeededRandom("snapshots")
    var wanted = view([])
    var (records, moves, states) = ([String](), [Int](), [String]())
    for round in 0..<200 {
      var snapshot = FeedSnapshot(wanted)
      try edit(&snapshot, &random, round)
      let difference = SnapshotDifference(from: wanted.state, to: snapshot)
      let before = wanted.state
      wanted.state = FeedState(drafts: snapshot.sections, reusing: wanted.state)
      if difference.events.isEmpty { continue }
      let value = "[\(difference.events.map(\.text).joined(separator: ","))]"
      records.append(
        "{\"topic\":\"feeds.items\",\"partition\":0,\"offset\":\(records.count),\"ts\":\(records.count),\"key\":\"f\",\"value\":\(value)}"
      )
      moves.append(difference.events.count { isMove($0, in: before) })
      states.append(wanted.state.document)
    }
    let published = try Replay.changesets(records, settings: onlyDifferences)
    #expect(published.count == records.count)
    var replica = Replica("f")
    for (index, changeset) in published.enumerated() {
      var change: FeedChange?
      for text in changeset.texts {
        if case .applied(let applied) = try replica.apply(text) { change = applied }
      }
      #expect(replica.view.state.document == states[index], "\(records[index])")
      guard let change, change.mode != .reload else { continue }
      #expect(moves[index] == change.items.moves.count + change.sections.moves.count, "\(records[index])")
    }
  }

  private func isMove(_ event: FeedEvent, in state: FeedState) -> Bool {
    let event = JSONObject(try? JSONText(checking: event.text))
    let section = event?["section"]?.string.map { SectionID($0) }
    guard let item = event?["item"]?.string.map({ ItemID($0) }) else {
      return event?["at"] != nil && section.map { state.sectionsById[$0] != nil } ?? false
    }
    return state.itemsById[item] != nil && (section != nil || event?["at"] != nil)
  }

  private func edit(_ snapshot: inout FeedSnapshot, _ random: inout SeededRandom, _ round: Int) throws {
    if snapshot.sectionIdentifiers.isEmpty { try snapshot.appendSections(["s\(round)", "t\(round)"]) }
    for number in 0..<Int.random(in: 1...12, using: &random) {
      let (sections, items) = (snapshot.sectionIdentifiers, snapshot.itemIdentifiers)
      let new = [FeedSnapshot.Item("i\(round).\(number)", kind: "k", data: 1)]
      switch Int.random(in: 0..<20, using: &random) {
      case 0: try snapshot.appendSections(["s\(round).\(number)"])
      case 1: snapshot.deleteSections([random.pick(sections)])
      case 2 where sections.count > 1:
        try snapshot.moveSection(sections[0], afterSection: random.pick(Array(sections.dropFirst())))
      case 3: try snapshot.insertSections(["s\(round).\(number)"], beforeSection: random.pick(sections))
      case 4...7: try snapshot.appendItems(new, toSection: random.pick(sections))
      case 8 where !items.isEmpty: snapshot.deleteItems([random.pick(items)])
      case 9 where !items.isEmpty: try snapshot.insertItems(new, beforeItem: random.pick(items))
      case 10 where !items.isEmpty:
        try snapshot.reconfigureItems([
          .init(random.pick(items), kind: random.pick(["k", "l"]), data: .integer(number))
        ])
      default:
        let (item, other) = (items.randomElement(using: &random), items.randomElement(using: &random))
        if let item, let other, item != other { try snapshot.moveItem(item, beforeItem: other) }
      }
      if snapshot.sectionIdentifiers.isEmpty { try snapshot.appendSections(["u\(round).\(number)"]) }
    }
  }
}
