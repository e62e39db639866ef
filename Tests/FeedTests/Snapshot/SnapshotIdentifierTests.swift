import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct SnapshotIdentifierTests {
  private let composed = "caf\u{E9}"
  private let decomposed = "cafe\u{301}"

  @Test func `identifiers that Unicode calls equivalent are different`() throws {
    try #require(composed == decomposed, "Swift compares strings by canonical equivalence")
    let one = try ItemIdentifier(validating: composed)
    let other = try ItemIdentifier(validating: decomposed)
    #expect(one != other)
    #expect(Set([one, other]).count == 2)
    #expect(try SectionIdentifier(validating: composed) != SectionIdentifier(validating: decomposed))
    #expect(withSpan(composed) { ItemKind($0) } != withSpan(decomposed) { ItemKind($0) })
    #expect(JSONData(string: composed) != JSONData(string: decomposed))
  }

  @Test func `a snapshot holds equivalent identifiers side by side`() throws {
    let one = try ItemIdentifier(validating: composed)
    let other = try ItemIdentifier(validating: decomposed)
    let sample = SampleState()
    _ = sample.addSection(composed)
    let section = sample.addSection(decomposed)
    for id in [composed, decomposed] { sample.addItem(id, to: section) }
    sample.state.confirm()
    let snapshot = Snapshot(copying: sample.state)
    #expect(snapshot.itemIdentifiers == [one, other])
    #expect(snapshot.position(ofItem: other)?.index == 1)
    #expect(try snapshot.numberOfItems(inSection: SectionIdentifier(validating: composed)) == 0)
    #expect(snapshot.sectionIdentifier(containingItem: one)?.description.utf8.count == decomposed.utf8.count)
  }

  @Test func `identifiers are ordered by their bytes`() throws {
    let ids: [ItemIdentifier] = ["a", "aa", "b", "e\u{301}", "z", "\u{E9}", "\u{FFFD}", "😀"]
    #expect(ids.shuffled().sorted() == ids)
  }

  @Test(arguments: [0, 256, 300])
  func `an identifier of a length that is not allowed is refused`(count: Int) {
    let text = String(repeating: "x", count: count)
    #expect(
      code { () throws(SnapshotError) in _ = try ItemIdentifier(validating: text) } == .invalidIdentifier
    )
    #expect(
      code { () throws(SnapshotError) in _ = try SectionIdentifier(validating: text) } == .invalidIdentifier
    )
  }

  @Test func `lengths count bytes and not characters`() throws {
    let text = String(repeating: "é", count: 127)
    #expect(try ItemIdentifier(validating: text + "x").description.utf8.count == 255)
    #expect(
      code { () throws(SnapshotError) in _ = try ItemIdentifier(validating: text + "é") }
        == .invalidIdentifier
    )
  }

  private func code(_ body: () throws(SnapshotError) -> Void) -> SnapshotError.Code? {
    do throws(SnapshotError) {
      try body()
      return nil
    } catch {
      return error.code
    }
  }
}
