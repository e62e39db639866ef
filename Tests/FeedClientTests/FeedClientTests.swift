import ChangesetTestSupport
import Feed
import Kafka
import Service
import Synchronization
import Testing

@testable import FeedClient

/// A client on an embedded cluster.
struct FeedClientTests {
  private static let topic = "feeds.changesets"
  private let source = ChangesetSource()

  private func cluster(partitions: Int32) throws -> EmbeddedCluster {
    let cluster = try EmbeddedCluster(log: { _, _, _ in })
    try cluster.createTopic(Self.topic, partitions: partitions)
    return cluster
  }

  private func client(
    _ cluster: EmbeddedCluster,
    partitions: Set<Int32>? = nil,
    log: @escaping KafkaLogHandler = { _, _, _ in }
  ) -> FeedClient {
    FeedClient(
      FeedClientOptions(
        kafka: ["bootstrap.servers": cluster.bootstrapServers, "fetch.wait.max.ms": "20"],
        partitions: partitions,
        batchCapacity: 5
      ),
      log: log
    )
  }

  private func produce(
    _ records: [ChangesetSource.Record],
    partition: Int32 = 0,
    to cluster: EmbeddedCluster
  ) throws {
    let producer = try Producer(configuration: ["bootstrap.servers": cluster.bootstrapServers]) { _, _, _ in }
    for record in records {
      try record.key.withUnsafeBytes { key in
        func produce(_ value: UnsafeRawBufferPointer?) throws {
          try producer.produce(
            topic: Self.topic,
            partition: partition,
            key: key,
            value: value,
            timestampMilliseconds: 1_795_168_800_000
          )
        }
        if let value = record.value {
          try value.withUnsafeBytes { try produce($0) }
        } else {
          try produce(nil)
        }
      }
    }
    try producer.flush(timeoutMilliseconds: 120_000)
    try producer.close(timeoutMilliseconds: 120_000)
  }

  @Test func `a client reads the current state, follows, and stops on request`() async throws {
    let cluster = try cluster(partitions: 3)
    defer { cluster.stop() }
    try produce(try await source.flush(("a", ChangesetSource.item("x"))), to: cluster)
    try produce(try await source.flush(("b", ChangesetSource.item("x"))), partition: 2, to: cluster)
    let client = client(cluster)
    var iterator = client.updates().makeAsyncIterator()
    async let running: Void = client.run()
    #expect(await client.waitUntilUpToDate())
    #expect(client.feeds().map(\.feed) == ["a", "b"])
    #expect(client.feeds().map(\.partition) == [0, 2])
    #expect(
      Set([try await iterator.next()?.summary, try await iterator.next()?.summary]) == [
        "a present 1", "b present 1",
      ]
    )
    try produce(try await source.flush(("a", ChangesetSource.item("y"))), to: cluster)
    let update = try await iterator.next()
    #expect(update?.summary == "a diff 2")
    #expect(update?.snapshot?.itemIdentifiers == ["x", "y"])
    client.stop()
    try await running
    #expect(try await iterator.next() == nil)
    #expect(client.content(of: "a")?.snapshot.numberOfItems == 2)
  }

  @Test func `partitions can be added and removed while the client runs`() async throws {
    let cluster = try cluster(partitions: 3)
    defer { cluster.stop() }
    try produce(try await source.flush(("a", ChangesetSource.item("x"))), to: cluster)
    try produce(try await source.flush(("b", ChangesetSource.item("x"))), partition: 1, to: cluster)
    let client = client(cluster, partitions: [])
    var iterator = client.updates().makeAsyncIterator()
    async let running: Void = client.run()
    #expect(await client.waitUntilUpToDate())
    #expect(client.feeds().isEmpty)
    client.follow(partitions: [0])
    #expect(try await iterator.next()?.summary == "a present 1")
    client.follow(partitions: [0, 1])
    #expect(try await iterator.next()?.summary == "b present 1")
    client.follow(partitions: [1])
    #expect(try await iterator.next()?.summary == "a absent")
    try produce(try await source.flush(("b", ChangesetSource.item("y"))), partition: 1, to: cluster)
    #expect(try await iterator.next()?.summary == "b diff 2")
    client.follow(partitions: [1, 0])
    #expect(try await iterator.next()?.summary == "a present 1")
    client.stop()
    try await running
  }

  @Test func `a slow subscriber pauses reading, and loses nothing`() async throws {
    let cluster = try cluster(partitions: 1)
    defer { cluster.stop() }
    var records = try await source.flush(("a", ChangesetSource.item("x")))
    for number in 1...200 { records += try await source.flush(("a", ChangesetSource.item("x", number))) }
    try produce(records, to: cluster)
    let client = client(cluster)
    let options = SubscriptionOptions(slowPolicy: .pausesReading, maximumUpdates: 2, beginsWithHistory: true)
    let slow = client.updates(of: nil, options)
    async let running: Void = client.run()
    var revisions: [UInt64] = []
    for try await update in slow {
      // What was read ahead of the subscriber is queued for it.
      let ahead = (client.content(of: "a")?.description.revision ?? 0) - UInt64(revisions.count)
      #expect(ahead <= 3)
      if case .changed(let changeset, _) = update { revisions.append(changeset.change.revision) }
      if revisions.count == 201 { break }
    }
    #expect(revisions == Array(1...201))
    client.stop()
    try await running
  }

  @Test func `while reading is paused, requests for other partitions and for a stop take effect`()
    async throws
  {
    let cluster = try cluster(partitions: 2)
    defer { cluster.stop() }
    var records = try await source.flush(("a", ChangesetSource.item("x")))
    for number in 1...50 { records += try await source.flush(("a", ChangesetSource.item("x", number))) }
    try produce(records, to: cluster)
    try produce(try await source.flush(("b", ChangesetSource.item("x"))), partition: 1, to: cluster)
    let client = client(cluster, partitions: [0])
    let options = SubscriptionOptions(slowPolicy: .pausesReading, maximumUpdates: 2, beginsWithHistory: true)
    var iterator = client.updates(of: nil, options).makeAsyncIterator()
    async let running: Void = client.run()
    #expect(try await iterator.next()?.summary == "a reload 1")
    client.follow(partitions: [0, 1])
    var summaries: [String?] = []
    for _ in 0..<51 { summaries.append(try await iterator.next()?.summary) }
    let expected = (2...51).map { "a reconfigure \($0)" }
    #expect(summaries.filter { $0?.hasPrefix("a") == true } == expected)
    #expect(summaries.contains("b reload 1"))
    client.stop()
    try await running
  }

  @Test func `a missing topic or partition is named`() async throws {
    let cluster = try cluster(partitions: 2)
    defer { cluster.stop() }
    let stranger = client(cluster, partitions: [1, 2])
    let error = await #expect(throws: FeedClientError.self) { try await stranger.run() }
    #expect(error?.code == .unknownPartition)
    #expect(error?.message.contains("partition 2") == true)
  }

  @Test func `a missing topic is waited for until the timeout, and then named`() async throws {
    let cluster = try EmbeddedCluster(log: { _, _, _ in })
    defer { cluster.stop() }
    let lines = Mutex<[String]>([])
    let client = FeedClient(
      FeedClientOptions(
        kafka: ["bootstrap.servers": cluster.bootstrapServers],
        topic: "nowhere",
        topicTimeout: .milliseconds(300)
      )
    ) { _, facility, line in if facility == "TOPIC" { lines.withLock { $0.append(line) } } }
    let error = await #expect(throws: FeedClientError.self) { try await client.run() }
    #expect(error?.code == .missingTopic && error?.message.contains("nowhere") == true)
    #expect(lines.withLock { $0 } == ["waiting for topic nowhere, for up to 1 s"])
  }

  @Test func `a failed client can be reset and run again`() async throws {
    let cluster = try cluster(partitions: 2)
    defer { cluster.stop() }
    try produce(try await source.flush(("a", ChangesetSource.item("x"))), to: cluster)
    let client = client(cluster, partitions: [0])
    let updates = client.updates()
    let failing = Task { try await client.run() }
    #expect(await client.waitUntilUpToDate())
    try cluster.pushRequestErrors(.fetch, [.topicAuthorizationFailed])
    let error = await #expect(throws: FeedClientError.self) { try await failing.value }
    #expect(error?.code == .kafka)
    client.follow(partitions: [0, 1])
    #expect(client.content(of: "a") != nil)

    client.reset()
    #expect(client.feeds().isEmpty)
    #expect(client.partitions.isEmpty)
    try produce(try await source.flush(("a", ChangesetSource.item("y"))), to: cluster)
    async let running: Void = client.run()
    #expect(await client.waitUntilUpToDate())
    #expect(client.description(of: "a")?.revision == 2)
    #expect(client.partitions.map(\.number) == [0, 1])
    await #expect(throws: FeedClientError.self) { for try await _ in updates {} }
    client.stop()
    try await running
  }

  @Test func `a cancelled client ends`() async throws {
    let cluster = try cluster(partitions: 1)
    defer { cluster.stop() }
    let client = client(cluster)
    let task = Task { try await client.run() }
    #expect(await client.waitUntilUpToDate())
    task.cancel()
    try await task.value
  }

  @Test func `unreachable brokers are waited for until a stop is requested`() async throws {
    // Nobody listens there.
    let options = FeedClientOptions(kafka: ["bootstrap.servers": "127.0.0.1:1"])
    let client = FeedClient(options, log: { _, _, _ in })
    async let running: Void = client.run()
    client.stop()
    try await running
    #expect(await client.waitUntilUpToDate() == false)
  }
}
