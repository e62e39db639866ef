import Oracle
import Testing

@testable import Feed
@testable import FeedChecks

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

  // MARK: Ordered sections

  /// Section `top`, the most first, with the items d 5, a 3 and c 1; and section `all` with x 2.
  private func orderedSample() -> Snapshot {
    let sample = SampleState()
    let top = sample.addSection("top")
    for (id, data) in [("d", "5"), ("a", "3"), ("c", "1")] { sample.addItem(id, to: top, data: data) }
    withSpan(#"[{"by":"","direction":"descending"}]"#) { order in
      withSpan("3") { sample.state.setSettings(top, ElementFields(order: order, keep: $0)) }
    }
    sample.addItem("x", to: sample.addSection("all"), data: "2")
    sample.state.confirm()
    return Snapshot(copying: sample.state)
  }

  @Test func `items are appended to an ordered section where their data says`() throws {
    var snapshot = orderedSample()
    let items = try [("b", "3"), ("e", "4"), ("f", "null"), ("g", "9")].map {
      try Snapshot.Item(ItemIdentifier(validating: $0), data: JSONData(validating: $1))
    }
    // Its bound is the producer's: nothing is cut.
    try snapshot.appendItems(items, toSection: "top")
    #expect(try snapshot.itemIdentifiers(inSection: "top") == ["g", "d", "e", "a", "b", "c", "f"])
    snapshot.checkInvariants()
    try snapshot.setData(JSONData(validating: "3.5"), ofItem: "g")
    #expect(try snapshot.itemIdentifiers(inSection: "top") == ["d", "e", "g", "a", "b", "c", "f"])
    snapshot.checkInvariants()
  }

  @Test(arguments: [
    (SnapshotEdit.setContent("d", kind: nil, data: "4"), ["d", "a", "i", "c"]),
    (.setContent("d", kind: nil, data: "0"), ["a", "i", "c", "d"]),
    (
      .appendItems([OracleItem(id: Array("h".utf8), data: Array("2".utf8))], section: "top"),
      ["d", "a", "h", "i", "c"]
    ),
  ])
  func `a snapshot of an ordered section can be edited after a difference was applied to it`(
    edit: SnapshotEdit,
    items: [ItemIdentifier]
  ) throws {
    let before = orderedSample()
    var after = before
    try edit.apply(to: &after)
    var snapshot = before
    try snapshot.setData(JSONData(validating: "6"), ofItem: "d")
    try snapshot.setData(JSONData(validating: "5"), ofItem: "d")
    try snapshot.apply(after.difference(from: before))
    snapshot.checkInvariants()
    try snapshot.appendItems([Snapshot.Item("i", data: JSONData(validating: "1.5"))], toSection: "top")
    #expect(try snapshot.itemIdentifiers(inSection: "top") == items)
    snapshot.checkInvariants()
  }

  @Test func `an ordered section takes no item in a place, and gives its own to others`() throws {
    let edits: [SnapshotEdit] = [
      .insertIdentifiers(["y"], next: "a", isAfter: true),
      .insertIdentifiers(["y"], next: "a", isAfter: false), .moveItem("x", next: "a", isAfter: false),
      .moveItem("d", next: "a", isAfter: true),
    ]
    for edit in edits {
      var snapshot = orderedSample()
      let error = #expect(throws: SnapshotError.self) { try edit.apply(to: &snapshot) }
      #expect(error?.code == .orderedSection)
      #expect(error?.code.rawValue == "ordered-section")
      #expect(error?.message.contains(#""top""#) == true)
      #expect(snapshot.hasSameContent(as: orderedSample()))
      snapshot.checkInvariants()
    }
    var snapshot = orderedSample()
    try snapshot.moveItem("d", afterItem: "x")
    try snapshot.moveSection("top", afterSection: "all")
    #expect(snapshot.itemIdentifiers == ["x", "d", "a", "c"])
  }

  @Test func `a snapshot without sections takes no items`() {
    var snapshot = Snapshot()
    let error = #expect(throws: SnapshotError.self) { try snapshot.appendItems(["a"]) }
    #expect(error?.code == .noSection)
  }
}
