import Glibc
import Kafka
import KafkaTestSupport
import Testing

/// Admin requests on the cluster named by `FEEDSTORE_TEST_BOOTSTRAP`.
@Suite(
  .enabled(if: RealBroker.bootstrapServers != nil, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster")
)
struct BrokerAdminTests {
  private let servers = RealBroker.bootstrapServers ?? ""
  private let admin: AdminClient

  init() throws {
    admin = try AdminClient(configuration: ["bootstrap.servers": servers], log: Fixture.log)
  }

  @Test func `a topic is created once with its settings, and deleted`() throws {
    let name = "feedstore.test.\(UInt64.random(in: 0...UInt64.max))"
    let specification = TopicSpecification(
      name,
      partitions: 3,
      replicationFactor: 1,
      configuration: ["cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"]
    )
    #expect(try admin.createTopics([specification], timeoutMilliseconds: 120_000).isEmpty)
    let metadata = try admin.waitForTopics([name], timeoutMilliseconds: 120_000)
    #expect(metadata.partitionCounts == [name: 3])

    let settings = try #require(
      try admin.waitForConfigurations([name], timeoutMilliseconds: 120_000)[name]
    ).get()
    #expect(settings["cleanup.policy"] == "compact")
    #expect(settings["min.cleanable.dirty.ratio"] == "0.1")
    // The brokers' defaults are included.
    #expect(settings["max.message.bytes"].flatMap { Int($0) } != nil)

    let again = try admin.createTopics([specification], timeoutMilliseconds: 120_000)
    #expect(again[name]?.kind == .topicAlreadyExists)

    #expect(try admin.deleteTopics([name], timeoutMilliseconds: 120_000).isEmpty)
    let gone = try admin.deleteTopics(["feedstore.test.none"], timeoutMilliseconds: 120_000)
    #expect(gone["feedstore.test.none"]?.kind == .unknownTopicOrPartition)
    try admin.close(timeoutMilliseconds: 120_000)
  }

  @Test func `settings of a topic that does not exist are an error that names it`() throws {
    let answer = try admin.describeConfigurations(["feedstore.test.none"], timeoutMilliseconds: 120_000)
    let result = try #require(answer["feedstore.test.none"])
    let error = #expect(throws: KafkaError.self) { try result.get() }
    #expect(error?.kind == .unknownTopicOrPartition)
    #expect(error?.message.contains("feedstore.test.none") == true)
    try admin.close(timeoutMilliseconds: 120_000)
  }

  @Test func `a group's members are listed with their partitions`() throws {
    let name = "feedstore.test.\(UInt64.random(in: 0...UInt64.max))"
    let specification = TopicSpecification(name, partitions: 2, replicationFactor: 1)
    #expect(try admin.createTopics([specification], timeoutMilliseconds: 120_000).isEmpty)
    _ = try admin.waitForTopics([name], timeoutMilliseconds: 120_000)
    #expect(try admin.describeGroup(name, timeoutMilliseconds: 120_000).isEmpty)
    let consumer = try Consumer(
      configuration: ["bootstrap.servers": servers, "group.id": name, "client.id": "reader@http://here:1"],
      log: Fixture.log
    )
    try consumer.subscribe(name)
    let batch = consumer.makeBatch(capacity: 1)
    var members: [GroupMember] = []
    while members.first?.partitions.count != 2 {
      try consumer.poll(into: batch, timeoutMilliseconds: 100)
      members = try admin.describeGroup(name, timeoutMilliseconds: 120_000)
    }
    #expect(members.map(\.clientID) == ["reader@http://here:1"])
    #expect(
      Set(members[0].partitions) == [
        TopicPartition(topic: name, partition: 0), TopicPartition(topic: name, partition: 1),
      ]
    )
    try consumer.close(timeoutMilliseconds: 120_000)
    _ = try admin.deleteTopics([name], timeoutMilliseconds: 120_000)
    try admin.close(timeoutMilliseconds: 120_000)
  }
}

/// The Kafka cluster for tests, if there is one other than the embedded one.
private enum RealBroker {
  static let bootstrapServers = getenv("FEEDSTORE_TEST_BOOTSTRAP").map { String(cString: $0) }
}
