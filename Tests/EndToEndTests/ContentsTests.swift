import ChangesetTestSupport
import FeedConfiguration
import FeedDaemon
import FeedStore
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Testing

@testable import Feed
@testable import FeedKafka
@testable import FeedStatus

/// Daemons that show contents in items.
struct ContentsTests {
  private static let topic = "feeds.contents"
  private var ground: Ground

  init() throws {
    ground = try Ground(partitions: 2)
    ground.configuration.store.topics.contents = Self.topic
    ground.configuration.store.contentsWindowMilliseconds = 0
    ground.configuration.store.coalescing.windowMilliseconds = 20
    ground.configuration.store.coalescing.idleWindowMilliseconds = 0
    try ground.cluster.createTopic(Self.topic, partitions: 3)
  }

  private static func item(_ feed: Int, _ refs: String) -> TopicRecord {
    TopicRecord(
      partition: Int32(feed % 2),
      "f\(feed)",
      #"{"op":"item.upsert","item":"i","section":"s","data":{"n":1},"refs":\#(refs)}"#
    )
  }

  /// Sends contents to the partitions of their ids.
  private func send(_ contents: (partition: Int32, id: String, value: String?)...) throws {
    let records = contents.map { TopicRecord(partition: $0.partition, $0.id, $0.value) }
    try ground.produce(records, to: Self.topic)
  }

  /// The data of the item of each feed, and the number of published records; a follower meets no gap.
  private func published() throws -> (data: [String: String], records: Int) {
    var partitions: [Int32: ReplicaPartition] = [:]
    let records = try ground.contents(of: "feeds.changesets", partitions: 2)
    for record in records {
      let replicas = partitions[record.partition] ?? ReplicaPartition(describesChanges: false)
      partitions[record.partition] = replicas
      switch try replicas.apply(record.key ?? [], record.value) {
      case .applied, .skipped: break
      case let other: Issue.record("a follower in step met \(other)")
      }
    }
    let feeds = partitions.values.flatMap(\.replicas).map { ($0.feed, $0.snapshot().data(ofItem: "i")) }
    return (Dictionary(uniqueKeysWithValues: feeds).compactMapValues { $0?.text.string }, records.count)
  }

  /// Runs a daemon during the body.
  private func running(_ body: () async throws -> Void) async throws {
    let stop = StopRequest()
    async let report = ground.daemon(stop: stop) { _ in }.run()
    do { try await body() } catch {
      stop.request()
      _ = try? await report
      throw error
    }
    stop.request()
    _ = try await report
  }

  private func awaitData(_ data: String, of feeds: Int) async throws {
    try await until("all items show \(data)") {
      let found = try published().data
      return found.count == feeds && found.values.allSatisfy { $0 == data }
    }
  }

  @Test func `a content reaches all items, while the daemon runs and after it was down`() async throws {
    let feeds = 20
    try send((0, "u", #"{"name":"Ada"}"#), (1, "bad", "[]"))
    try ground.produce((0..<feeds).map { Self.item($0, #"{"a":"u","p":"q"}"#) }, to: "feeds.items")
    try await running {
      try await awaitData(#"{"n":1,"a":{"name":"Ada"},"p":null}"#, of: feeds)
      try send((0, "u", #"{"name":"Grace"}"#), (2, "q", #"{"x":1}"#))
      try await awaitData(#"{"n":1,"a":{"name":"Grace"},"p":{"x":1}}"#, of: feeds)
    }
    try send((0, "u", #"{"name":"Edsger"}"#), (2, "q", nil))
    let before = try published().records
    try await running { try await awaitData(#"{"n":1,"a":{"name":"Edsger"},"p":null}"#, of: feeds) }
    // One changeset for each feed, although two contents have changed; some feeds have a keyframe.
    let after = try published().records
    #expect((feeds...2 * feeds).contains(after - before))
    // A daemon that finds nothing changed publishes nothing.
    let ended = try await ground.runDaemon(applying: feeds)
    #expect(ended.counters.outputRecords == 0)
    #expect(try published().records == after)
  }

  @Test func `a daemon waits for the contents before it serves restored feeds`() async throws {
    try send((0, "u", #"{"v":1}"#))
    try ground.produce([Self.item(0, #"{"a":"u"}"#)], to: "feeds.items")
    try await running { try await awaitData(#"{"n":1,"a":{"v":1}}"#, of: 1) }
    // Many contents, the last of which has changed.
    let many = (0..<20_000).map { TopicRecord(partition: 0, "other\($0)", #"{"x":"x"}"#) }
    try ground.produce(many + [TopicRecord(partition: 0, "u", #"{"v":2}"#)], to: Self.topic)
    let patch = TopicRecord(partition: 0, "f0", #"{"op":"item.patch","item":"i","data":{"n":2}}"#)
    try ground.produce([patch], to: "feeds.items")
    try await running { try await awaitData(#"{"n":2,"a":{"v":2}}"#, of: 1) }
    let values = try ground.contents(of: "feeds.changesets", partitions: 2).compactMap(\.valueText)
    #expect(!values.contains { $0.contains(#"{"n":2,"a":{"v":1}}"#) || $0.contains(#"{"n":2,"a":null}"#) })
  }

  @Test func `contents that are too many stop the daemon`() async throws {
    var ground = ground
    ground.configuration.maxContentsBytes = 1_000
    try ground.produce(
      [TopicRecord("u", #"{"x":"\#(String(repeating: "x", count: 1_000))"}"#)],
      to: Self.topic
    )
    let error = await #expect(throws: DaemonError.self) {
      try await ground.daemon(stop: StopRequest()) { _ in }.run()
    }
    #expect(error?.message.contains("limits.maxContentsBytes") == true, "\(error?.message ?? "")")
  }
}
