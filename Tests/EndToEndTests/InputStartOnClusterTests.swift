import Diagnostics
import Feed
import FeedConfiguration
import FeedDaemon
import FeedStatus
import FeedStore
import FeedWorker
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Synchronization
import Testing

@testable import FeedKafka

/// The embedded cluster keeps offsets that are committed outside of transactions.
struct InputStartOnClusterTests {
  private static let record = TopicRecord("a", "{\"op\":\"section.upsert\",\"section\":\"s\"}")

  private func commit(
    _ offset: Int64,
    metadata: String = "",
    partition: Int32 = 0,
    _ ground: Ground
  ) throws {
    var client = ground.client
    client["group.id"] = "feedstore"
    let consumer = try Consumer(configuration: client, log: { _, _, _ in })
    let input = TopicPartition(topic: "feeds.items", partition: partition)
    try consumer.commit([input: CommittedOffset(offset, metadata: metadata)])
    try consumer.close(timeoutMilliseconds: 120_000)
  }

  @Test func `input is read from the committed offset, despite transient errors`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    try ground.produce(Array(repeating: Self.record, count: 5), to: "feeds.items")
    try commit(3, ground)
    try ground.cluster.pushRequestErrors(.offsetFetch, [.coordinatorNotAvailable, .unstableOffsetCommit])
    // A broker may not know a topic yet that others know.
    try ground.cluster.pushRequestErrors(.listOffsets, [.transport, .unknownTopicOrPartition, .unknown])
    let report = try await ground.runDaemon(applying: 2)
    #expect(report.counters.records == 2)
  }

  @Test func `lost input stops the daemon, or is skipped if so configured`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    try ground.produce(Array(repeating: Self.record, count: 5), to: "feeds.items")
    try commit(8, ground)
    let failing = ground
    let error = await #expect(throws: DaemonError.self) { try await failing.runDaemon(applying: 5) }
    #expect(error?.code == .lostInput)
    #expect(error?.message.contains("feeds.items [0] ends at 5, but the group has committed 8") == true)

    ground.configuration.lostInput = .continue
    let report = try await ground.runDaemon(applying: 5)
    #expect(report.counters.records == 5)
  }

  @Test func `skipping lost input is committed, even if no record follows`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    try commit(8, ground)
    ground.configuration.lostInput = .continue
    ground.configuration.store.coalescing.windowMilliseconds = 50
    let stop = StopRequest()
    let report = try await ground.daemon(stop: stop) { event in
      if case .committed = event { stop.request() }
    }.run()
    #expect(report.counters.records == 0)
    #expect(report.counters.flushes == 1)
  }

  /// The published state of a feed whose last record had offset 41.
  private static let published = TopicRecord(
    "k0/a",
    #"{"feed":"a","epoch":"feeds.items/40","revision":1,"base":0,"mode":"reload","reason":"initial","time":"2026-11-20T10:00:00.000Z","through":{"feeds.items":41},"checksum":"00000000","sections":[]}"#
  )

  @Test
  func `an input that ends before what feeds have taken stops the daemon, without a committed offset too`()
    async throws
  {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    try ground.produce([Self.published], to: "feeds.changesets")
    try ground.produce([Self.record], to: "feeds.items")
    let error = await #expect(throws: DaemonError.self) { try await ground.runDaemon(applying: 1) }
    #expect(error?.code == .lostInput)
    for text in ["feeds.items [0] ends at 1", "up to offset 41", "onLostInput", "topics.changesets"] {
      #expect(error?.message.contains(text) == true, "\(text): \(error?.message ?? "")")
    }
  }

  @Test func `if so configured, feeds forget what they have taken of an input that begins again`()
    async throws
  {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.lostInput = .continue
    try ground.produce([Self.published], to: "feeds.changesets")
    try ground.produce([Self.record], to: "feeds.items")
    let lines = Mutex<[String]>([])
    let log = Ground.log(.warning) { line in lines.withLock { $0.append(line) } }
    let report = try await ground.runDaemon(applying: 1, log: log)
    #expect(lines.withLock { $0 }.count { $0.contains("event=input.lost") && $0.contains("offset 41") } == 1)
    #expect(report.counters.noOps[.alreadyApplied] == nil)
    #expect(report.feeds.map(\.sectionCount) == [1])
    let changesets = try ground.contents(of: "feeds.changesets", partitions: 1)
    #expect(changesets.last?.valueText?.contains(#""revision":2,"#) == true)
    #expect(changesets.last?.valueText?.contains(#""through":{"feeds.items":0}"#) == true)
  }

  @Test func `changesets that end before the committed position stop their partition, and no other`()
    async throws
  {
    let ground = try Ground(partitions: 2)
    defer { ground.cluster.stop() }
    for partition in 0..<2 as Range<Int32> {
      let records = (0..<2).map { TopicRecord(partition: partition, "a\(partition)", Self.text($0)) }
      try ground.produce(records, to: "feeds.items")
      // As if both partitions had had changesets up to here.
      try commit(1, metadata: "changesets=\(partition)", partition: partition, ground)
    }
    let lines = Mutex<[String]>([])
    let report = try await ground.runDaemon(
      applying: 1,
      log: Ground.log(.error) { line in lines.withLock { $0.append(line) } }
    )
    #expect(report.feeds.map(\.feed) == ["a0"])
    #expect(try ground.contents(of: "feeds.changesets", partitions: 2).map(\.partition) == [0])
    let line = try #require(lines.withLock { $0.first })
    #expect(line.contains("event=partition.stopped"))
    #expect(line.contains("feeds.changesets [1]: it ends at offset 0, and the group has committed"))
    #expect(line.contains("changesets up to 1"))
    #expect(line.contains("reset the group's offsets of partition 1 of the inputs"))
  }

  private static func text(_ number: Int) -> String { #"{"op":"section.upsert","section":"s\#(number)"}"# }
}
