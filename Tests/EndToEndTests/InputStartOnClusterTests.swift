import FeedStore
import Kafka
import Service
import Testing

@testable import FeedPipeline

/// What is committed outside of transactions the embedded cluster keeps.
struct InputStartOnClusterTests {
  private static let record = StoredRecord("a", "{\"op\":\"section.upsert\",\"section\":\"s\"}")

  private func commit(_ offset: Int64, _ ground: Ground) throws {
    var client = ground.client
    client["group.id"] = "feedstore"
    let consumer = try Consumer(configuration: client, log: { _, _, _ in })
    try consumer.commit([TopicPartitionOffset(topic: "feeds.items", partition: 0, offset: offset)])
    try consumer.close(timeoutMilliseconds: 10_000)
  }

  @Test func `input is read from the committed offset, whatever fails for a moment`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    try ground.produce(Array(repeating: Self.record, count: 5), to: "feeds.items")
    try commit(3, ground)
    try ground.cluster.pushRequestErrors(.offsetFetch, [.coordinatorNotAvailable, .unstableOffsetCommit])
    // A broker may not have heard yet of a topic that others tell of.
    try ground.cluster.pushRequestErrors(.listOffsets, [.transport, .unknownTopicOrPartition, .unknown])
    let report = try await ground.runDaemon(applying: 2)
    #expect(report.counters.records == 2)
  }

  @Test func `input that is gone stops the daemon, or is passed over if that is asked for`() async throws {
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

  @Test func `that input is passed over is committed, also when nothing follows`() async throws {
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
}
