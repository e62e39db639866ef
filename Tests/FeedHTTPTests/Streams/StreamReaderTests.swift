import FeedClient
import Testing

@testable import FeedHTTP
@testable import Service

/// What one reader of a stream is sent, and when it lags.
struct StreamReaderTests {
  private let stream = EventStream(
    number: 1,
    queueLimit: 1_000,
    retryMilliseconds: 3_000,
    counters: HTTPCounterStore()
  )

  init() { _ = sent() }

  private func version(_ revision: UInt64) -> FeedVersion { FeedVersion(epoch: "e/1", revision: revision) }

  private func changeset(
    _ revision: UInt64,
    isReload: Bool = false,
    offset: Int64? = nil,
    texts: [String]? = nil
  ) -> StreamedChangeset {
    StreamedChangeset(
      base: version(revision - 1),
      version: version(revision),
      isReload: isReload,
      offset: offset ?? Int64(revision),
      values: (texts ?? ["\(revision)"]).map { Array($0.utf8) }
    )
  }

  private func reload(_ revision: UInt64) -> FeedReload {
    FeedReload(version(revision), Array("state \(revision)".utf8), ReloadLedger(limit: .max))
  }

  /// The data of the messages sent since the last call.
  private func sent() -> [String] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100_000, alignment: 1)
    defer { buffer.deallocate() }
    guard stream.queuedBytes > 0 else { return [] }
    let text = String(decoding: buffer[..<stream.take(into: buffer)], as: UTF8.self)
    return text.split(separator: "\n").filter { $0.hasPrefix("data: ") }.map { String($0.dropFirst(6)) }
  }

  /// A reader that has a version, and gets changesets from an offset on.
  private func reader(at revision: UInt64, position: Int64 = 0) -> StreamReader {
    var reader = StreamReader(stream)
    reader.resume(after: version(revision), position: position, missed: [])
    return reader
  }

  @Test func `a new reader waits for the feed's state, and gets nothing before it`() {
    var reader = StreamReader(stream)
    #expect(reader.isLagging)
    reader.take(changeset(1))
    reader.notify(ServerSentEvent(data: Array("news".utf8)).encoded())
    reader.jump(to: version(1), position: 2)
    #expect(reader.isLagging && sent().isEmpty)
  }

  @Test func `consecutive changesets are sent, with all their parts`() {
    var reader = reader(at: 4)
    reader.hasUpToDateNotice = true
    reader.take(changeset(5))
    #expect(!reader.hasUpToDateNotice)
    reader.take(changeset(6, texts: ["6a", "6b"]))
    #expect(sent() == ["5", "6a", "6b"])
    #expect(reader.version == version(6) && !reader.isLagging)
  }

  @Test
  func `a changeset that does not continue from the reader's version makes it lag, and a reload does not`() {
    var reader = reader(at: 4)
    reader.take(changeset(6, isReload: true))
    #expect(!reader.isLagging && sent() == ["6"])
    reader.take(changeset(8))
    #expect(reader.isLagging && sent().isEmpty)
    #expect(reader.version == version(6))
    reader.take(changeset(7))
    #expect(sent().isEmpty)
  }

  @Test func `changesets before its position are skipped, and one at the position is sent`() {
    var reader = reader(at: 4, position: 10)
    reader.take(changeset(5, offset: 9))
    #expect(sent().isEmpty && !reader.isLagging)
    reader.take(changeset(5, offset: 10))
    #expect(sent() == ["5"])
  }

  @Test func `missed changesets are sent whatever their offset, and repeated ones are not`() {
    var reader = StreamReader(stream)
    reader.resume(after: version(4), position: 7, missed: [changeset(5), changeset(6)])
    #expect(sent() == ["5", "6"])
    reader.take(changeset(6))
    #expect(!reader.isLagging && sent().isEmpty)
    reader.take(changeset(7))
    #expect(sent() == ["7"])
  }

  @Test func `a reader with a full queue lags, and gets the state and later changesets`() {
    var reader = reader(at: 4)
    reader.take(changeset(5, texts: [String(repeating: "x", count: 900)]))
    reader.take(changeset(6, texts: ["6a", String(repeating: "y", count: 900), "6c"]))
    #expect(reader.isLagging)
    // The queued bytes are part of a changeset; nothing follows them.
    #expect(sent() == [String(repeating: "x", count: 900), "6a"])
    reader.hasUpToDateNotice = true
    reader.take(reload(6), position: 7, missed: [changeset(7)])
    #expect(sent() == ["state 6", "7"])
    #expect(!reader.isLagging && !reader.hasUpToDateNotice && reader.version == version(7))
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
    reader.waitForReload(telling: ServerSentEvent(data: Array("must refetch".utf8)).encoded())
    #expect(sent() == ["must refetch"])
    #expect(reader.version == nil && reader.position == 0 && !reader.isLagging)
    reader.take(changeset(9, isReload: true))
    #expect(sent() == ["9"])
    #expect(reader.version == version(9))
  }
}
