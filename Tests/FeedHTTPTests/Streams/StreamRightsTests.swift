import Feed
import FeedConfiguration
import Oracle
import Synchronization
import Testing

@testable import FeedClient
@testable import FeedHTTP
@testable import HTTP

/// The effect of tokens' rights and expiry on streams.
struct StreamRightsTests {
  private static let now: Int64 = 1_000_000

  private static func rights(
    _ read: String...,
    expires: Int64 = .max,
    subject: String? = "ada"
  ) -> AccessRights {
    AccessRights(read: read, write: [], expires: expires, subject: subject)
  }

  private static func forbidden(_ feed: String, _ reason: String = "not-allowed") -> String {
    "forbidden {\"feed\":\"\(feed)\",\"reason\":\"\(reason)\"}"
  }

  // MARK: Decisions

  private var delivery = StreamDelivery(maxHistoryBytes: 100_000)

  private mutating func open(_ rights: AccessRights, _ queue: ReaderQueue, _ feeds: String...) -> Int {
    let number = delivery.open(queue.stream, id: "s")
    _ = delivery.grant(rights, to: number)
    for feed in feeds {
      let id = ByteText(feed)
      delivery.follow(FeedRequest(feed: id), on: number)
      let version = FeedVersion(epoch: "e/1", revision: 1)
      guard
        let (reader, view) = delivery.begin(ViewID(id), on: number, at: FeedAddress(0, id), after: version)
      else { continue }
      let current = ViewStanding(description: .made(of: feed, revision: 1, .upToDate), since: 1)
      delivery.start(reader, of: view, current)
    }
    return number
  }

  private mutating func change(_ feed: String, _ revision: UInt64) {
    _ = delivery.take(
      .changeset(.made(revision, texts: ["\(feed)\(revision)"])),
      of: FeedAddress(0, ByteText(feed))
    )
  }

  @Test mutating func `a feed that may not be read is told, and not followed`() {
    let queue = ReaderQueue()
    let number = open(Self.rights("a"), queue, "a", "b")
    #expect(queue.drain() == [Self.forbidden("b")])
    for feed in ["a", "b"] { change(feed, 2) }
    #expect(queue.drain() == ["a2"])
    #expect(delivery.viewCount == 1)
    #expect(delivery.close(number).map(\.feed.string) == ["a"])
  }

  @Test mutating func `newer rights end feeds that they do not allow, and no others`() {
    let queue = ReaderQueue()
    let number = open(Self.rights("*"), queue, "a", "b")
    change("b", 2)
    #expect(delivery.grant(Self.rights("a"), to: number).map(\.feed.string) == ["b"])
    change("b", 3)
    change("a", 2)
    // Messages that were sent before stay.
    #expect(queue.drain() == ["b2", Self.forbidden("b"), "a2"])
    #expect(delivery.refused(on: "s", butReadableBy: Self.rights("a")).isEmpty)
    #expect(delivery.refused(on: "s", butReadableBy: .all).map(\.feed.string) == ["b"])
    #expect(delivery.refused(on: "another", butReadableBy: .all).isEmpty)
    // A feed that the stream no longer follows is forgotten.
    #expect(delivery.unfollow(ViewID(ByteText("b")), on: number) == nil)
    #expect(delivery.refused(on: "s", butReadableBy: .all).isEmpty)
  }

  @Test mutating func `a stream ends at the end of its newest token`() {
    let (first, second) = (ReaderQueue(), ReaderQueue())
    let ending = open(Self.rights("*", expires: Self.now), first, "a", "b")
    let renewed = open(Self.rights("*", expires: Self.now), second, "a")
    _ = delivery.grant(Self.rights("*", expires: Self.now + 1_000), to: renewed)
    #expect(delivery.expire(at: Self.now - 1).ended.isEmpty)
    let (ended, requests) = delivery.expire(at: Self.now)
    #expect(ended.count == 1 && ended[0] === first.stream)
    #expect(Set(requests.map(\.feed.string)) == ["a", "b"])
    #expect(delivery.streams[ending] == nil)
    change("a", 2)
    let expected: Set = [Self.forbidden("a", "token-expired"), Self.forbidden("b", "token-expired")]
    #expect(Set(first.drain()) == expected)
    #expect(second.drain() == ["a2"])
    #expect(delivery.nextExpiry == Self.now + 1_000)
    #expect(delivery.expire(at: Self.now + 1_000).ended.count == 1)
    #expect(delivery.nextExpiry == .max)
    #expect(delivery.expire(at: .max).ended.isEmpty)
  }

  // MARK: Streams

  /// A topic with feeds, and a stream of them. The client may read only some.
  private func opened(
    _ queue: ReaderQueue,
    _ ids: [String]
  ) async throws -> (topic: StreamedTopic, stream: String) {
    var random = SplitMix64(seed: 1)
    let topic = StreamedTopic(seed: 1, HTTPOptions())
    while !Set(ids).isSubset(of: topic.feeds.keys) { try await topic.produce(10, &random) }
    topic.read(.max)
    topic.deliver()
    let window = FeedWindow(extent: .first(2))
    topic.streams.open(queue.stream, ids.map { FeedRequest(feed: ByteText($0), window: window) })
    let first = try #require(topic.streams.delivery.withLock { $0.numbers.keys.first })
    return (topic, first)
  }

  private func drained(_ queue: ReaderQueue, _ topic: StreamedTopic) -> [String] {
    var messages: [String] = []
    // States are sent after the queue was read.
    for _ in 0..<4 {
      topic.sendStates()
      topic.deliver()
      _ = topic.streams.sendUpToDate()
      messages += queue.drain()
    }
    return messages
  }

  @Test func `a newer token starts what it allows, and only the same person can send it`() async throws {
    let queue = ReaderQueue(limit: 1 << 20, rights: Self.rights("0*"))
    let (topic, id) = try await opened(queue, ["0f0", "1f0"])
    let first = drained(queue, topic)
    #expect(first.contains(Self.forbidden("1f0")))
    #expect(first.contains { $0.hasPrefix("up-to-date {\"feed\":\"0f0\"") })
    #expect(!first.contains { $0.contains("1f0") && $0 != Self.forbidden("1f0") })
    #expect(topic.streams.counts == (feeds: 1, windows: 1))
    for rights in [Self.rights("*", subject: "bob"), Self.rights("*", subject: nil), .all] {
      #expect(try topic.streams.change(id, rights, removing: [], adding: []) == nil)
    }
    #expect(drained(queue, topic) == [])
    let change = try #require(try topic.streams.change(id, Self.rights("*"), removing: [], adding: []))
    #expect(change.added.isEmpty && change.changed.isEmpty && change.removed.isEmpty)
    let second = drained(queue, topic)
    #expect(second.contains { $0.hasPrefix("up-to-date {\"feed\":\"1f0\"") })
    // No message is repeated.
    #expect(!second.contains { $0.contains("0f0") })
    #expect(topic.streams.counts == (feeds: 2, windows: 2))
    // A refused feed can be removed.
    _ = try topic.streams.change(id, Self.rights("1*"), removing: [], adding: [])
    let removed = FeedRequest(feed: ByteText("0f0"))
    #expect(
      try topic.streams.change(id, Self.rights("*"), removing: [removed], adding: [])?.removed == [
        removed.viewID
      ]
    )
    #expect(drained(queue, topic) == [Self.forbidden("0f0")])
  }

  @Test func `feeds that may not be read count for the limit of a stream`() async throws {
    let queue = ReaderQueue(limit: 1 << 20, rights: Self.rights("0*"))
    let (topic, id) = try await opened(queue, ["0f0", "1f0"])
    let added = (0..<255).map { FeedRequest(feed: ByteText("1-\($0)")) }
    #expect(throws: ContentFault.self) {
      try topic.streams.change(id, Self.rights("0*"), removing: [], adding: added)
    }
    #expect(
      try topic.streams.change(id, Self.rights("0*"), removing: [], adding: Array(added.dropLast())) != nil
    )
  }

  @Test func `a client that reads nothing cannot ask for notices without end`() async throws {
    let queue = ReaderQueue(limit: 1 << 20)
    let (topic, id) = try await opened(queue, ["0f0"])
    let again = FeedRequest(feed: ByteText("0f0"))
    func ask() throws { _ = try topic.streams.change(id, .all, removing: [], adding: [again]) }
    let refusal = #expect(throws: HTTPRefusal.self) { for _ in 0..<100_000 { try ask() } }
    #expect(refusal?.response.status == 503)
    #expect(queue.stream.queuedBytes < topic.streams.limits.server.maxStreamQueueBytes + 1_000)
    _ = queue.drain()
    try ask()
  }

  @Test func `a stream ends when its token has ended`() async throws {
    let queue = ReaderQueue(limit: 1 << 20, rights: Self.rights("*", expires: Self.now))
    let (topic, id) = try await opened(queue, ["0f0", "1f0"])
    _ = drained(queue, topic)
    topic.streams.look(at: Self.now - 1)
    #expect(!queue.stream.hasEnded)
    _ = try topic.streams.change(id, Self.rights("*", expires: Self.now + 1), removing: [], adding: [])
    topic.streams.look(at: Self.now)
    #expect(!queue.stream.hasEnded && queue.drain() == [])
    topic.streams.look(at: Self.now + 1)
    #expect(queue.stream.hasEnded)
    let expected: Set = [Self.forbidden("0f0", "token-expired"), Self.forbidden("1f0", "token-expired")]
    #expect(Set(queue.drain()) == expected)
    #expect(topic.streams.counts == (feeds: 0, windows: 0))
    #expect(try topic.streams.change(id, Self.rights("*"), removing: [], adding: []) == nil)
  }
}
