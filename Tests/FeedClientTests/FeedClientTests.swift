import ChangesetTestSupport
import Feed
import Kafka
import KafkaTestSupport
import Synchronization
import Testing

@testable import FeedClient

/// A client on an embedded cluster.
struct FeedClientTests {
  private let source = ChangesetSource()

  @Test func `a client reads the current state, follows, and stops on request`() async throws {
    let cluster = try EmbeddedCluster.forChangesets(partitions: 3)
    defer { cluster.stop() }
    try cluster.produce(try await source.flush(("a", ChangesetSource.item("x"))))
    try cluster.produce(try await source.flush(("b", ChangesetSource.item("x"))), partition: 2)
    let client = cluster.client()
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
    try cluster.produce(try await source.flush(("a", ChangesetSource.item("y"))))
    let update = try await iterator.next()
    #expect(update?.summary == "a diff 2")
    #expect(update?.snapshot?.itemIdentifiers == ["x", "y"])
    client.stop()
    try await running
    #expect(try await iterator.next() == nil)
    #expect(client.content(of: "a")?.snapshot.numberOfItems == 2)
  }

  @Test func `partitions can be added and removed while the client runs`() async throws {
    let cluster = try EmbeddedCluster.forChangesets(partitions: 3)
    defer { cluster.stop() }
    try cluster.produce(try await source.flush(("a", ChangesetSource.item("x"))))
    try cluster.produce(try await source.flush(("b", ChangesetSource.item("x"))), partition: 1)
    let client = cluster.client(partitions: [])
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
    try cluster.produce(try await source.flush(("b", ChangesetSource.item("y"))), partition: 1)
    #expect(try await iterator.next()?.summary == "b diff 2")
    client.follow(partitions: [1, 0])
    #expect(try await iterator.next()?.summary == "a present 1")
    client.stop()
    try await running
  }

  @Test func `a slow subscriber pauses reading, and loses nothing`() async throws {
    let cluster = try EmbeddedCluster.forChangesets(partitions: 1)
    defer { cluster.stop() }
    var records = try await source.flush(("a", ChangesetSource.item("x")))
    for number in 1...200 { records += try await source.flush(("a", ChangesetSource.item("x", number))) }
    try cluster.produce(records)
    let client = cluster.client()
    let options = SubscriptionOptions(slowPolicy: .pausesReading, maximumUpdates: 2, beginsWithHistory: true)
    let slow = client.updates(of: nil, options)
    async let running: Void = client.run()
    var revisions: [UInt64] = []
    for try await update in slow {
      // Updates that the subscriber has not taken are queued for it.
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
    let cluster = try EmbeddedCluster.forChangesets(partitions: 2)
    defer { cluster.stop() }
    var records = try await source.flush(("a", ChangesetSource.item("x")))
    for number in 1...50 { records += try await source.flush(("a", ChangesetSource.item("x", number))) }
    try cluster.produce(records)
    try cluster.produce(try await source.flush(("b", ChangesetSource.item("x"))), partition: 1)
    let client = cluster.client(partitions: [0])
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
    let cluster = try EmbeddedCluster.forChangesets(partitions: 2)
    defer { cluster.stop() }
    let stranger = cluster.client(partitions: [1, 2])
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
    let cluster = try EmbeddedCluster.forChangesets(partitions: 2)
    defer { cluster.stop() }
    try cluster.produce(try await source.flush(("a", ChangesetSource.item("x"))))
    let client = cluster.client(partitions: [0])
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
    try cluster.produce(try await source.flush(("a", ChangesetSource.item("y"))))
    async let running: Void = client.run()
    #expect(await client.waitUntilUpToDate())
    #expect(client.description(of: "a")?.revision == 2)
    #expect(client.partitions.map(\.number) == [0, 1])
    await #expect(throws: FeedClientError.self) { for try await _ in updates {} }
    client.stop()
    try await running
  }

  @Test func `a cancelled client ends`() async throws {
    let cluster = try EmbeddedCluster.forChangesets(partitions: 1)
    defer { cluster.stop() }
    let client = cluster.client()
    let task = Task { try await client.run() }
    #expect(await client.waitUntilUpToDate())
    task.cancel()
    try await task.value
  }

  @Test func `unreachable brokers are waited for until a stop is requested`() async throws {
    // No server listens there.
    let options = FeedClientOptions(kafka: ["bootstrap.servers": "127.0.0.1:1"])
    let client = FeedClient(options, log: { _, _, _ in })
    async let running: Void = client.run()
    client.stop()
    try await running
    #expect(await client.waitUntilUpToDate() == false)
  }
}
