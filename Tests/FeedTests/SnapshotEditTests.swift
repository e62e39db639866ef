import Oracle
import Testing

@testable import Feed

/// The rules of `NSDiffableDataSourceSnapshot`, one by one.
@Suite struct SnapshotEditTests {
  /// Two sections of three items, and an empty one; something is marked.
  private func sample() throws -> Snapshot {
    var snapshot = Snapshot()
    try snapshot.appendSections(["one", "two", "three"])
    try snapshot.appendItems(["a", "b", "c"], toSection: "one")
    try snapshot.appendItems(
      [
        Snapshot.Item("d", kind: "story", data: JSONData(validating: #"{"score":1}"#)),
        Snapshot.Item("e"), Snapshot.Item("f", kind: "ad"),
      ],
      toSection: "two"
    )
    try snapshot.reloadItems(["b"])
    return snapshot
  }

  @Test func `items are appended to the last section where none is named`() throws {
    var snapshot = try sample()
    try snapshot.appendItems(["x", "y"])
    #expect(try snapshot.itemIdentifiers(inSection: "three") == ["x", "y"])
    #expect(snapshot.data(ofItem: "x") == .null)
    #expect(snapshot.kind(ofItem: "x") == "")
  }

  @Test func `an item is moved into the section of the item it is put next to`() throws {
    var snapshot = try sample()
    try snapshot.moveItem("a", afterItem: "d")
    #expect(snapshot.itemIdentifiers == ["b", "c", "d", "a", "e", "f"])
    #expect(snapshot.position(ofItem: "a") == ItemPosition(section: "two", index: 1))
    #expect(snapshot.indexOfItem("a") == 3)
  }

  @Test func `a section takes its items along when it is moved, and when it is deleted`() throws {
    var snapshot = try sample()
    try snapshot.moveSection("one", afterSection: "three")
    #expect(snapshot.itemIdentifiers == ["d", "e", "f", "a", "b", "c"])
    snapshot.deleteSections(["one"])
    #expect(snapshot.itemIdentifiers == ["d", "e", "f"])
    #expect(snapshot.indexOfItem("a") == nil)
    #expect(snapshot.reloadedItemIdentifiers.isEmpty)
  }

  @Test func `deleting what is not there is ignored`() throws {
    var snapshot = try sample()
    let before = snapshot
    snapshot.deleteItems(["x", "y"])
    snapshot.deleteSections(["four"])
    #expect(snapshot.hasSameContent(as: before))
    snapshot.deleteItems(["x", "a", "a"])
    #expect(snapshot.numberOfItems == 5)
  }

  @Test func `deleting all items deletes the sections and the marks too`() throws {
    var snapshot = try sample()
    snapshot.deleteAllItems()
    #expect(snapshot.numberOfSections == 0)
    #expect(snapshot.reloadedItemIdentifiers.isEmpty)
    #expect(snapshot.hasSameContent(as: Snapshot()))
    #expect(snapshot.checksum == 0)
  }

  @Test func `a deleted item is forgotten with its content and its mark`() throws {
    var snapshot = try sample()
    snapshot.deleteItems(["b", "d"])
    try snapshot.appendItems(["b", "d"], toSection: "one")
    #expect(snapshot.reloadedItemIdentifiers.isEmpty)
    #expect(snapshot.data(ofItem: "d") == .null)
  }

  @Test func `a reload replaces a reconfigure, whichever comes first`() throws {
    var snapshot = try sample()
    try snapshot.reconfigureItems(["f", "b", "c"])
    try snapshot.reloadItems(["c"])
    #expect(snapshot.reloadedItemIdentifiers == ["b", "c"])
    #expect(snapshot.reconfiguredItemIdentifiers == ["f"])
  }

  @Test func `what is not there has no position and no content`() throws {
    let snapshot = try sample()
    #expect(snapshot.indexOfItem("x") == nil)
    #expect(snapshot.position(ofItem: "x") == nil)
    #expect(snapshot.indexOfSection("x") == nil)
    #expect(snapshot.sectionIdentifier(containingItem: "x") == nil)
    #expect(snapshot.kind(ofItem: "x") == nil)
    #expect(snapshot.data(ofItem: "x") == nil)
    #expect(snapshot.data(ofSection: "x") == nil)
    #expect(throws: SnapshotError.self) { try snapshot.numberOfItems(inSection: "x") }
    #expect(throws: SnapshotError.self) { try snapshot.itemIdentifiers(inSection: "x") }
  }

  static let mistakes: [(SnapshotEdit, SnapshotError.Code, named: String)] = [
    (.appendSections(["four", "one"]), .duplicateIdentifier, "one"),
    (.appendSections(["four", "four"]), .duplicateIdentifier, "four"),
    (.insertSections(["four"], next: "five", isAfter: false), .unknownSection, "five"),
    (.insertSections(["four", "two"], next: "one", isAfter: true), .duplicateIdentifier, "two"),
    (.moveSection("four", next: "one", isAfter: true), .unknownSection, "four"),
    (.moveSection("one", next: "four", isAfter: false), .unknownSection, "four"),
    (.moveSection("one", next: "one", isAfter: false), .selfMove, "one"),
    (.appendIdentifiers(["x"], section: "four"), .unknownSection, "four"),
    (.appendIdentifiers(["x", "y", "d"], section: "one"), .duplicateIdentifier, "d"),
    (.appendIdentifiers(["x", "y", "x"], section: nil), .duplicateIdentifier, "x"),
    (.insertIdentifiers(["x"], next: "y", isAfter: false), .unknownItem, "y"),
    (.insertIdentifiers(["x"], next: "x", isAfter: true), .unknownItem, "x"),
    (.insertIdentifiers(["x", "f"], next: "b", isAfter: true), .duplicateIdentifier, "f"),
    (.moveItem("x", next: "a", isAfter: false), .unknownItem, "x"),
    (.moveItem("a", next: "x", isAfter: true), .unknownItem, "x"),
    (.moveItem("a", next: "a", isAfter: true), .selfMove, "a"),
    (.reloadItems(["a", "x"]), .unknownItem, "x"),
    (.reconfigureItems(["a", "x"]), .unknownItem, "x"),
    (.reloadSections(["one", "four"]), .unknownSection, "four"),
    (.setContent("x", kind: "ad", data: "1"), .unknownItem, "x"),
    (.setContent("a", kind: nil, data: "{"), .invalidData, "{"),
    (.setContent("a", kind: String(repeating: "k", count: 256), data: nil), .invalidKind, "256"),
    (.setSectionData("four", "1"), .unknownSection, "four"),
  ]

  @Test(arguments: mistakes)
  func `a wrong edit is refused and leaves the snapshot as it was`(
    edit: SnapshotEdit,
    code: SnapshotError.Code,
    named: String
  ) throws {
    var snapshot = try sample()
    let checksum = snapshot.checksum
    let error = #expect(throws: SnapshotError.self) { try edit.apply(to: &snapshot) }
    #expect(error?.code == code)
    #expect(error?.message.contains(named) == true, "the message names the culprit: \(error?.message ?? "")")
    snapshot.checkInvariants()
    #expect(snapshot.hasSameContent(as: try sample()))
    #expect(snapshot.checksum == checksum)
    #expect(snapshot.reloadedItemIdentifiers == ["b"])
    #expect(snapshot.reconfiguredItemIdentifiers.isEmpty)
    #expect(snapshot.reloadedSectionIdentifiers.isEmpty)
    // Nothing of the refused edit is in the way of a right one.
    try snapshot.appendSections(["four"])
    try snapshot.appendItems(["x", "y"], toSection: "four")
    snapshot.checkInvariants()
  }

  @Test func `a snapshot without sections takes no items`() {
    var snapshot = Snapshot()
    let error = #expect(throws: SnapshotError.self) { try snapshot.appendItems(["a"]) }
    #expect(error?.code == .noSection)
  }
}
