import Feed
import Testing

@testable import FeedClient
@testable import FeedHTTP

struct ChangesetHistoryTests {
  private let feed = ViewAddress(FeedAddress(0, ByteText("a")))

  private func changeset(_ revision: UInt64, bytes: Int = 100) -> StreamedChangeset {
    .made(revision, texts: [String(repeating: " ", count: bytes)])
  }

  private func missed(_ history: ChangesetHistory, after revision: UInt64, epoch: String = "e/1") -> [UInt64]?
  {
    history.changesets(of: feed, after: FeedVersion(epoch: epoch, revision: revision))?
      .map(\.version.revision)
  }

  @Test func `the changesets after a version are found, and none of other feeds`() {
    var history = ChangesetHistory(limit: 10_000)
    #expect(missed(history, after: 1) == nil)
    for revision in 5...8 as ClosedRange<UInt64> { history.append(changeset(revision), of: feed) }
    #expect(missed(history, after: 3) == nil)
    #expect(missed(history, after: 4) == [5, 6, 7, 8])
    #expect(missed(history, after: 7) == [8])
    #expect(missed(history, after: 8) == [])
    #expect(missed(history, after: 9) == nil)
    #expect(missed(history, after: 7, epoch: "e/2") == nil)
    // The same id and the same epoch in another partition.
    let other = ViewAddress(FeedAddress(1, feed.feed.id))
    #expect(history.changesets(of: other, after: FeedVersion(epoch: "e/1", revision: 7)) == nil)
    history.removeAll(of: feed)
    #expect(missed(history, after: 7) == nil)
    #expect(history.byteCount == 0)
  }

  @Test func `the oldest changesets of all feeds are dropped first, and the limit holds`() {
    var history = ChangesetHistory(limit: 4_000)
    let other = ViewAddress(FeedAddress(0, ByteText("b")))
    history.append(changeset(1), of: feed)
    for revision in 1...9 as ClosedRange<UInt64> {
      history.append(changeset(revision), of: other)
      #expect(history.byteCount <= 4_000)
    }
    #expect(missed(history, after: 0) == [1])
    history.append(changeset(10), of: other)
    #expect(missed(history, after: 0) == nil)
    // Removed explicitly and then reached in the order: counted once.
    history.removeAll(of: other)
    #expect(history.byteCount == 0)
    for revision in 1...20 as ClosedRange<UInt64> { history.append(changeset(revision), of: feed) }
    #expect(history.byteCount == 4_000)
    #expect(missed(history, after: 10) == Array(11...20))
    #expect(missed(history, after: 9) == nil)
  }

  @Test func `removed changesets are not counted any more`() {
    var history = ChangesetHistory(limit: 1_000_000)
    let other = ViewAddress(FeedAddress(0, ByteText("b")))
    history.append(changeset(1), of: other)
    for revision in 1...10_000 as ClosedRange<UInt64> {
      history.append(changeset(revision), of: feed)
      if revision % 3 == 0 { history.removeAll(of: feed) }
    }
    #expect(history.order.count < 100)
    #expect(missed(history, after: 9_999) == [10_000])
    #expect(history.changesets(of: other, after: FeedVersion(epoch: "e/1", revision: 0))?.count == 1)
  }

  @Test func `a changeset too large for the history is not kept, nor are those before it`() {
    var history = ChangesetHistory(limit: 1_000)
    history.append(changeset(1), of: feed)
    history.append(changeset(2, bytes: 5_000), of: feed)
    #expect(missed(history, after: 0) == nil)
    #expect(missed(history, after: 2) == nil)
    #expect(history.byteCount == 0)
  }

  @Test(arguments: ["e/1@7", "a@b/3@12", "@0"])
  func `a version can be parsed from its text`(text: String) {
    #expect(FeedVersion(text)?.text == text)
  }

  @Test(arguments: ["", "e/1", "e/1@", "e/1@x", "e/1@-1", "e/1@ 1"])
  func `invalid text is not a version`(text: String) {
    #expect(FeedVersion(text) == nil)
  }
}
