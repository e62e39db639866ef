import Oracle
import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct ContentTests {
  private let state = FeedState()
  private let item: ElementHandle

  init() {
    let section = state.makeSection(ByteSpan("s"), ByteHash.of(ByteSpan("s")))
    state.attach(section, .sections, at: .first)
    item = state.items.create(ByteSpan("i"), ByteHash.of(ByteSpan("i")))
    state.setContent(item: item, ElementFields(kind: ByteSpan("story")))
    state.attach(item, .items(of: section), at: .first)
  }

  @Test func `content without data is what it is`() {
    #expect(state.kind(item).text == "story")
    #expect(state.items[item].content.hasSameData(as: .empty, fingerprint: DataFingerprint.of(.empty)))
    state.checkInvariants()
  }

  @Test func `kind and data change apart from each other`() {
    state.setContent(item: item, ElementFields(data: ByteSpan("1")))
    #expect(state.kind(item).text == "story")
    state.setContent(item: item, ElementFields(kind: ByteSpan("advert")))
    #expect(state.kind(item).text == "advert")
    #expect(state.items[item].data.text == "1")
    state.checkInvariants()
  }

  @Test func `what is set again changes nothing`() {
    state.setContent(item: item, ElementFields(data: ByteSpan("1")))
    state.confirm()
    state.setContent(item: item, ElementFields(kind: ByteSpan("story"), data: ByteSpan("1")))
    #expect(state.items.changes.isEmpty)
    state.setContent(item: item, ElementFields(kind: ByteSpan("story"), data: ByteSpan("2")))
    #expect(state.tally().reconfigureCount == 1)
    // Back at the published content, the hashes are equal, and the bytes are compared.
    state.setContent(item: item, ElementFields(data: ByteSpan("1")))
    #expect(state.tally().reconfigureCount == 0)
    state.checkInvariants()
  }

  @Test func `a kind that nothing has any more is forgotten, whatever becomes of the change`() {
    state.confirm()
    state.setContent(item: item, ElementFields(kind: ByteSpan("advert")))
    #expect(state.kinds.count == 2)
    state.rollBack()
    #expect(state.kind(item).text == "story")
    #expect(state.kinds.count == 1)
    state.setContent(item: item, ElementFields(kind: ByteSpan("advert")))
    state.confirm()
    #expect(state.kind(item).text == "advert")
    #expect(state.kinds.count == 1)
    state.beginJournal()
    state.setContent(item: item, ElementFields(kind: ByteSpan("notice")))
    state.setContent(item: item, ElementFields(kind: ByteSpan("poll")))
    state.undoJournal()
    #expect(state.kind(item).text == "advert")
    state.checkInvariants()
    state.rollBack()
    #expect(state.kinds.count == 1)
    state.checkInvariants()
  }
}
