import Testing

@testable import FeedVerification

/// By how much a part grows with the first entry of the next one: an entry of ten bytes, and what it needs around it.
@Suite struct PartSeamTests {
  private func cost(_ last: EntryList, _ first: EntryList) -> Int? {
    let next = PartSeam.entries(first: first, last: first, firstBytes: 10)
    return next.cost(after: .entries(first: last, last: last, firstBytes: 10))
  }

  @Test func `an entry of the same list needs a comma`() {
    #expect(cost(.itemInsert, .itemInsert) == #",{"id":"a"}"#.utf8.count)
  }

  @Test func `an entry of another list needs its brackets and name`() {
    #expect(cost(.itemDelete, .itemInsert) == #","insert":[{"id":"a"}]"#.utf8.count)
    #expect(cost(.sectionDelete, .sectionReconfigure) == #","reconfigure":[{"id":"a"}]"#.utf8.count)
  }

  @Test func `the first entry of items needs their object too`() {
    #expect(cost(.sectionDelete, .itemMove) == #","items":{"move":[{"id":"a"}]}"#.utf8.count)
    #expect(cost(.itemMove, .sectionDelete) == #","sections":{"delete":[{"id":"a"}]}"#.utf8.count)
  }

  @Test func `a section of a reload needs a comma, and an item that begins a list its brackets`() {
    func cost(isContinued: Bool, lastHasItems: Bool) -> Int? {
      PartSeam.sections(isContinued: isContinued, firstBytes: 10, lastHasItems: false)
        .cost(after: .sections(isContinued: false, firstBytes: 10, lastHasItems: lastHasItems))
    }
    let (listed, alone) = (#",{"id":"a"}"#.utf8.count, #","items":[{"id":"a"}]"#.utf8.count)
    #expect(cost(isContinued: false, lastHasItems: false) == listed)
    #expect(cost(isContinued: false, lastHasItems: true) == listed)
    #expect(cost(isContinued: true, lastHasItems: true) == listed)
    #expect(cost(isContinued: true, lastHasItems: false) == alone)
  }

  @Test func `different parts do not go together`() {
    let entries = PartSeam.entries(first: .itemMove, last: .itemMove, firstBytes: 10)
    #expect(PartSeam.none.cost(after: entries) == nil)
    #expect(entries.cost(after: .none) == nil)
  }
}
