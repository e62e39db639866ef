import Oracle
import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct SnapshotCopyTests {
  private func sample(_ count: Int) throws -> Snapshot {
    var snapshot = Snapshot()
    try snapshot.appendSections(["one", "two"])
    for number in 0..<count {
      try snapshot.appendItems(
        [ItemIdentifier(validating: "i\(number)")],
        toSection: number.isMultiple(of: 2) ? "one" : "two"
      )
    }
    return snapshot
  }

  @Test func `copies do not affect each other`() throws {
    let original = try sample(300)
    var one = original
    var other = original
    try one.moveItem("i0", afterItem: "i299")
    try one.reloadItems(["i5"])
    other.deleteSections(["one"])
    try other.setKind("ad", ofItem: "i1")
    #expect(original.hasSameContent(as: try sample(300)))
    #expect(original.reloadedItemIdentifiers.isEmpty)
    #expect(one.numberOfItems == 300)
    #expect(one.kind(ofItem: "i1") == "")
    #expect(other.numberOfItems == 150)
    for snapshot in [original, one, other] { snapshot.checkInvariants() }
  }

  @Test func `a copy takes the marks along`() throws {
    var original = try sample(20)
    original.deleteItems(["i0"])
    try original.reloadItems(["i7", "i2"])
    try original.reconfigureItems(["i19", "i4"])
    try original.reloadSections(["two"])
    var copy = original
    try copy.moveItem("i19", beforeItem: "i2")
    #expect(copy.reloadedItemIdentifiers == ["i2", "i7"])
    #expect(copy.reconfiguredItemIdentifiers == ["i19", "i4"])
    #expect(copy.reloadedSectionIdentifiers == ["two"])
    #expect(original.reconfiguredItemIdentifiers == ["i4", "i19"])
  }

  @Test func `storage is copied only where it is shared and edited`() throws {
    var snapshot = try sample(10)
    let storage = ObjectIdentifier(snapshot.storage)
    try snapshot.moveItem("i1", afterItem: "i3")
    #expect(ObjectIdentifier(snapshot.storage) == storage)
    let copy = snapshot
    #expect(ObjectIdentifier(copy.storage) == storage)
    try snapshot.moveItem("i1", afterItem: "i5")
    #expect(ObjectIdentifier(snapshot.storage) != storage)
    #expect(ObjectIdentifier(copy.storage) == storage)
  }

  @Test func `tasks may read and edit copies of one snapshot at once`() async throws {
    let original = try sample(400)
    let results = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          var copy = original
          var moved = 0
          for number in 0..<20 {
            guard let item = try? ItemIdentifier(validating: "i\(task * 40 + number * 2)") else { continue }
            if number.isMultiple(of: 5) { copy = original }
            try? copy.moveItem(item, afterItem: "i399")
            moved += copy.difference(from: original).items.moves.count
            moved += original.indexOfItem(item) == nil ? 1000 : 0
          }
          return moved
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    // One to five moves, four times over.
    #expect(results == [Int](repeating: 60, count: 8))
    original.checkInvariants()
  }

  @Test func `a snapshot of a feed under way has its current content`() throws {
    let key = Array("f".utf8)
    let id = ByteSpan("f").copied()
    defer { id.deallocate() }
    let feed = PublishedFeed(id: ByteSpan(UnsafePointer(id), key.count))
    let decoder = RecordDecoder(limits: Limits())
    func apply(_ json: String, offset: Int64) throws {
      let value = Array(json.utf8)
      try key.withUnsafeBytes { key in
        try value.withUnsafeBytes { value in
          try decoder.decode(key: ByteSpan(key), value: ByteSpan(value))
          try feed.apply(decoder, at: RecordPosition(topic: Array("t".utf8), offset: offset, timestamp: 0)) {
            _ in
          }
        }
      }
    }
    try apply(
      #"{"op":"feed.replace","sections":[{"id":"one","items":["a","b"]},{"id":"two","items":["c"]}]}"#,
      offset: 0
    )
    feed.confirm()
    try apply(
      #"[{"op":"item.delete","item":"a"},{"op":"item.move","item":"b","section":"two","at":"first"}]"#,
      offset: 1
    )
    try apply(#"{"op":"item.upsert","item":"d","section":"one","kind":"ad","data":{"x":1}}"#, offset: 2)
    let snapshot = feed.snapshot()
    snapshot.checkInvariants()
    #expect(snapshot.itemIdentifiers == ["d", "b", "c"])
    #expect(snapshot.kind(ofItem: "d") == "ad")
    #expect(snapshot.checksum == feed.checksum)
    feed.rollBack()
    #expect(feed.snapshot().itemIdentifiers == ["a", "b", "c"])
    #expect(snapshot.itemIdentifiers == ["d", "b", "c"])
  }
}
