import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct SnapshotMismatchTests {
  private func sample() -> Snapshot {
    let sample = SampleState()
    let one = sample.addSection("one")
    for item in ["a", "b", "c"] { sample.addItem(item, to: one) }
    _ = sample.addSection("two")
    sample.state.confirm()
    return Snapshot(copying: sample.state)
  }

  private static func at(_ section: SectionIdentifier, _ index: Int) -> ItemPosition {
    ItemPosition(section: section, index: index)
  }

  private static func insert(_ id: ItemIdentifier, _ position: ItemPosition) -> ItemChanges.Entry {
    ItemChanges.Entry(id: id, position: position, kind: "", data: .null)
  }

  private static func items(_ fill: (inout ItemChanges) -> Void) -> SnapshotDifference {
    var items = ItemChanges()
    fill(&items)
    return SnapshotDifference(items: items)
  }

  private static func sections(_ fill: (inout SectionChanges) -> Void) -> SnapshotDifference {
    var sections = SectionChanges()
    fill(&sections)
    return SnapshotDifference(sections: sections)
  }

  static let misfits: [SnapshotDifference] = [
    items { $0.deletes = [.init(id: "x", position: at("one", 0))] },
    items { $0.deletes = [.init(id: "b", position: at("one", 0))] },
    items { $0.deletes = [.init(id: "b", position: at("two", 1))] },
    items { $0.deletes = [.init(id: "b", position: at("one", -1))] },
    items { $0.inserts = [insert("x", at("one", 0)), insert("a", at("one", 1))] },
    items { $0.inserts = [insert("x", at("one", 4))] },
    items { $0.inserts = [insert("x", at("one", -1))] },
    items { $0.inserts = [insert("x", at("one", Int.max))] },
    items { $0.inserts = [insert("x", at("three", 0))] },
    items { $0.inserts = [insert("x", at("two", 0)), insert("y", at("two", 0))] },
    items { $0.inserts = [insert("x", at("two", 0)), insert("x", at("two", 1))] },
    items { $0.moves = [.init(id: "a", from: at("one", 1), to: at("two", 0))] },
    items { $0.moves = [.init(id: "a", from: at("one", 0), to: at("two", 1))] },
    items { $0.moves = [.init(id: "a", from: at("one", 0), to: at("one", 3))] },
    items { $0.reconfigures = [.init(id: "x", position: at("one", 0), data: .null)] },
    items { $0.reconfigures = [.init(id: "b", position: at("one", 0), data: .null)] },
    items { $0.reloads = [insert("a", at("one", 0)), insert("b", at("two", 1))] },
    sections { $0.deletes = [.init(id: "two", position: 0)] },
    sections { $0.inserts = [.init(id: "one", position: 0, data: .null)] },
    sections { $0.inserts = [.init(id: "three", position: 3, data: .null)] },
    sections { $0.inserts = [.init(id: "three", position: -1, data: .null)] },
    sections { $0.moves = [.init(id: "one", from: 0, to: 2)] },
    sections { $0.moves = [.init(id: "one", from: 0, to: 1), .init(id: "one", from: 0, to: 1)] },
    sections { $0.reloads = [.init(id: "three", position: 0, data: .null)] },
  ]

  @Test(arguments: misfits)
  func `a difference that does not fit is refused and leaves the snapshot as it was`(
    difference: SnapshotDifference
  ) {
    var snapshot = sample()
    let error = #expect(throws: SnapshotError.self) { try snapshot.apply(difference) }
    #expect(error?.code == .mismatch)
    snapshot.checkInvariants()
    #expect(snapshot.hasSameContent(as: sample()))
  }

  @Test func `a difference does not fit a second time`() throws {
    let difference = Self.items {
      $0.deletes = [.init(id: "b", position: Self.at("one", 1))]
      $0.moves = [.init(id: "a", from: Self.at("one", 0), to: Self.at("one", 1))]
    }
    var snapshot = sample()
    try snapshot.apply(difference)
    #expect(snapshot.itemIdentifiers == ["c", "a"])
    #expect(throws: SnapshotError.self) { try snapshot.apply(difference) }
    #expect(snapshot.itemIdentifiers == ["c", "a"])
  }

  @Test func `what is not there has no position and no content`() {
    let snapshot = sample()
    #expect(snapshot.position(ofItem: "x") == nil)
    #expect(snapshot.indexOfSection("x") == nil)
    #expect(snapshot.sectionIdentifier(containingItem: "x") == nil)
    #expect(snapshot.kind(ofItem: "x") == nil)
    #expect(snapshot.data(ofItem: "x") == nil)
    #expect(snapshot.data(ofSection: "x") == nil)
    let count = #expect(throws: SnapshotError.self) { try snapshot.numberOfItems(inSection: "x") }
    let items = #expect(throws: SnapshotError.self) { try snapshot.itemIdentifiers(inSection: "x") }
    for error in [count, items] {
      #expect(error?.code == .unknownSection)
      #expect(error?.message.contains(#""x""#) == true)
    }
  }
}
