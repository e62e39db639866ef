import FeedClient
import Testing

@testable import FeedHTTP
@testable import HTTP

/// The messages for one reader of a stream, and when it lags.
struct StreamReaderTests {
  private let queue = ReaderQueue()

  private func version(_ revision: UInt64) -> FeedVersion { FeedVersion(epoch: "e/1", revision: revision) }

  private func reload(_ revision: UInt64) -> FeedReload {
    FeedReload(version(revision), Array("state \(revision)".utf8), ReloadLedger(limit: .max))
  }

  /// A reader with a version, which receives changesets from an offset on.
  private func reader(at revision: UInt64, position: Int64 = 0) -> StreamReader {
    var reader = StreamReader(queue.stream)
    reader.resume(after: version(revision), position: position, missed: [])
    return reader
  }

  @Test func `a new reader waits for the feed's state, and gets nothing before it`() {
    var reader = StreamReader(queue.stream)
    #expect(reader.isLagging)
    reader.take(.made(1))
    reader.notify(EncodedEvent(data: Array("news".utf8)))
    reader.jump(to: version(1), position: 2)
    #expect(reader.isLagging && queue.drain().isEmpty)
  }

  @Test func `consecutive changesets are sent, with all their parts`() {
    var reader = reader(at: 4)
    reader.take(.made(5))
    reader.take(.made(6, texts: ["6a", "6b"]))
    #expect(queue.drain() == ["5", "6a", "6b"])
    #expect(reader.version == version(6) && !reader.isLagging)
  }

  @Test
  func `a changeset that does not continue from the reader's version makes it lag, and a reload does not`() {
    var reader = reader(at: 4)
    reader.take(.made(6, isReload: true))
    #expect(!reader.isLagging && queue.drain() == ["6"])
    reader.take(.made(8))
    #expect(reader.isLagging && queue.drain().isEmpty)
    #expect(reader.version == version(6))
    reader.take(.made(7))
    #expect(queue.drain().isEmpty)
  }

  @Test func `changesets before its position are skipped, and one at the position is sent`() {
    var reader = reader(at: 4, position: 10)
    reader.take(.made(5, offset: 9))
    #expect(queue.drain().isEmpty && !reader.isLagging)
    reader.take(.made(5, offset: 10))
    #expect(queue.drain() == ["5"])
  }

  @Test func `missed changesets are sent whatever their offset, and repeated ones are not`() {
    var reader = StreamReader(queue.stream)
    reader.resume(after: version(4), position: 7, missed: [.made(5), .made(6)])
    #expect(queue.drain() == ["5", "6"])
    reader.take(.made(6))
    #expect(!reader.isLagging && queue.drain().isEmpty)
    reader.take(.made(7))
    #expect(queue.drain() == ["7"])
  }

  @Test func `a reader with a full queue lags, and gets the state and later changesets`() {
    var reader = reader(at: 4)
    reader.take(.made(5, texts: [String(repeating: "x", count: 900)]))
    reader.take(.made(6, texts: ["6a", String(repeating: "y", count: 900), "6c"]))
    #expect(reader.isLagging)
    // The queued bytes are part of a changeset; nothing follows them.
    #expect(queue.drain() == [String(repeating: "x", count: 900), "6a"])
    reader.take(reload(6), position: 7, missed: [.made(7)])
    #expect(queue.drain() == ["state 6", "7"])
    #expect(!reader.isLagging && reader.version == version(7))
  }

  @Test func `a jump to the reader's own version does not make it lag`() {
    var reader = reader(at: 4)
    reader.jump(to: version(4), position: 9)
    #expect(!reader.isLagging && reader.position == 9)
    reader.jump(to: version(5), position: 12)
    #expect(reader.isLagging && reader.position == 9)
  }

  @Test func `a reader that waits for a reload is told so, and gets nothing else`() {
    var reader = reader(at: 4, position: 3)
    reader.waitForReload(telling: EncodedEvent(data: Array("must refetch".utf8)))
    #expect(queue.drain() == ["must refetch"])
    #expect(reader.version == nil && reader.position == 0 && !reader.isLagging)
    reader.take(.made(9, isReload: true))
    #expect(queue.drain() == ["9"])
    #expect(reader.version == version(9))
  }
}
