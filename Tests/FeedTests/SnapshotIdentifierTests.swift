import Feed
import Testing

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
    #expect(try ItemKind(validating: composed) != ItemKind(validating: decomposed))
    #expect(try JSONData(validating: "\"\(composed)\"") != JSONData(validating: "\"\(decomposed)\""))
  }

  @Test func `a snapshot holds equivalent identifiers side by side`() throws {
    let one = try ItemIdentifier(validating: composed)
    let other = try ItemIdentifier(validating: decomposed)
    var snapshot = Snapshot()
    try snapshot.appendSections([
      SectionIdentifier(validating: composed), SectionIdentifier(validating: decomposed),
    ])
    try snapshot.appendItems([one, other], toSection: SectionIdentifier(validating: decomposed))
    #expect(snapshot.itemIdentifiers == [one, other])
    #expect(snapshot.indexOfItem(other) == 1)
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
    #expect(try ItemKind(validating: text + "x").description.utf8.count == 255)
    #expect(code { () throws(SnapshotError) in _ = try ItemKind(validating: text + "é") } == .invalidKind)
    #expect(try ItemKind(validating: "") == "")
  }

  @Test(arguments: [
    ("null", "null"), (" { \"a\" : [ 1.0 , 1 ] }\n", #"{"a":[1.0,1]}"#), ("\t\"a b\"", "\"a b\""),
    (#"{"b":1,"a":2,"b":3}"#, #"{"b":1,"a":2,"b":3}"#), (#""\u00e9\ud83d\ude00""#, #""\u00e9\ud83d\ude00""#),
    ("1E5", "1E5"), (" [ ] ", "[]"),
  ])
  func `data is kept as spelled, without white space`(text: String, kept: String) throws {
    #expect(Array(try JSONData(validating: text).description.utf8) == Array(kept.utf8))
  }

  @Test(arguments: ["", " ", "{", "nul", "01", "{} {}", "[1,]", "\"\\ud800\"", "\"\\x\"", "\u{FEFF}1", "'a'"])
  func `data that is not one JSON value is refused`(text: String) {
    #expect(code { () throws(SnapshotError) in _ = try JSONData(validating: text) } == .invalidData)
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
