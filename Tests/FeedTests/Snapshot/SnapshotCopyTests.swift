import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct SnapshotCopyTests {
  /// Sections `one` and `two`, with every other item each.
  private static func sample(_ count: Int) -> Snapshot {
    let sample = SampleState()
    let sections = ["one", "two"].map { sample.addSection($0) }
    for number in 0..<count { sample.addItem("i\(number)", to: sections[number % 2]) }
    sample.state.confirm()
    return Snapshot(copying: sample.state)
  }

  /// Moves the item of section `one` at an index to the end of section `two`, which has this many items.
  private static func move(_ index: Int, behind count: Int) throws -> SnapshotDifference {
    var items = ItemChanges()
    items.moves = [
      .init(
        id: try ItemIdentifier(validating: "i\(index * 2)"),
        from: ItemPosition(section: "one", index: index),
        to: ItemPosition(section: "two", index: count)
      )
    ]
    return SnapshotDifference(items: items)
  }

  @Test func `copies do not affect each other`() throws {
    let original = Self.sample(300)
    var one = original
    var other = original
    try one.apply(Self.move(0, behind: 150))
    var difference = SnapshotDifference()
    difference.sections.deletes = [.init(id: "one", position: 0)]
    difference.items.reloads = [
      .init(id: "i1", position: ItemPosition(section: "two", index: 0), kind: "ad", data: .null)
    ]
    try other.apply(difference)
    #expect(original.hasSameContent(as: Self.sample(300)))
    #expect(one.numberOfItems == 300)
    #expect(one.itemIdentifiers.last == "i0")
    #expect(one.kind(ofItem: "i1") == "")
    #expect(other.numberOfItems == 150)
    #expect(other.kind(ofItem: "i1") == "ad")
    #expect(!one.hasSameContent(as: original) && !other.hasSameContent(as: original))
    for snapshot in [original, one, other] { snapshot.checkInvariants() }
  }

  @Test func `storage is copied only where it is shared and a difference is applied`() throws {
    var snapshot = Self.sample(10)
    let storage = ObjectIdentifier(snapshot.storage)
    try snapshot.apply(Self.move(0, behind: 5))
    #expect(ObjectIdentifier(snapshot.storage) == storage)
    let copy = snapshot
    #expect(ObjectIdentifier(copy.storage) == storage)
    var items = ItemChanges()
    items.deletes = [.init(id: "i0", position: ItemPosition(section: "two", index: 5))]
    try snapshot.apply(SnapshotDifference(items: items))
    #expect(ObjectIdentifier(snapshot.storage) != storage)
    #expect(ObjectIdentifier(copy.storage) == storage)
    #expect(copy.numberOfItems == 10 && snapshot.numberOfItems == 9)
  }

  @Test func `tasks may read and change copies of one snapshot at once`() async throws {
    let original = Self.sample(400)
    let results = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          var moved = 0
          for number in 0..<20 {
            let index = task * 20 + number
            guard let difference = try? Self.move(index, behind: 200),
              let item = difference.items.moves.first?.id
            else { continue }
            var copy = original
            try? copy.apply(difference)
            moved += copy.sectionIdentifier(containingItem: item) == "two" ? 1 : 0
            moved += original.position(ofItem: item)?.index == index ? 0 : 1000
          }
          return moved
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results == [Int](repeating: 20, count: 8))
    original.checkInvariants()
  }
}
