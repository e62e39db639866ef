import Kafka
import KafkaTestSupport
import Testing

/// An admin client on a cluster without admin requests, and without a cluster.
struct AdminTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  private let timeoutMilliseconds: Int32 = 120_000

  @Test func `a request that the brokers do not support fails for each topic, by name`() throws {
    try fixture.cluster.createTopic("there", partitions: 2)
    let admin = try fixture.admin()

    let settings = try admin.describeConfigurations(["there", "gone"], timeoutMilliseconds: 2_000)
    #expect(settings.keys.sorted() == ["gone", "there"])
    for (topic, result) in settings {
      let error = #expect(throws: KafkaError.self) { try result.get() }
      #expect(error?.message.contains("could not read the settings of topic \(topic): ") == true)
      #expect(error?.isFatal == false)
    }

    let specifications = [TopicSpecification("one", partitions: 1), TopicSpecification("two", partitions: 1)]
    let failures = try admin.createTopics(specifications, timeoutMilliseconds: 2_000)
    #expect(failures.keys.sorted() == ["one", "two"])
    for (topic, error) in failures {
      #expect(error.message.contains("could not create topic \(topic): "))
      #expect(error.kind != .topicAlreadyExists)
    }

    let deletions = try admin.deleteTopics(["there", "gone"], timeoutMilliseconds: 2_000)
    #expect(deletions.keys.sorted() == ["gone", "there"])
    for (topic, error) in deletions { #expect(error.message.contains("could not delete topic \(topic): ")) }
  }

  /// The embedded brokers close the connection on this request. librdkafka's own admin request for it would sometimes
  /// abort the process then (librdkafka issue 4605).
  @Test func `a group that cannot be described is an error that names it, however often`() throws {
    let admin = try fixture.admin()
    for _ in 1...20 {
      let error = #expect(throws: KafkaError.self) {
        try admin.describeGroup("readers", timeoutMilliseconds: 200)
      }
      #expect(error?.message.contains("could not describe group readers: ") == true)
    }
  }

  @Test func `a broker may take long until it can be asked for metadata`() throws {
    try fixture.cluster.createTopic("there", partitions: 3)
    // Until a connection is usable, another request has to be answered.
    try fixture.cluster.setRoundTrip(nil, milliseconds: 1_500)
    let admin = try fixture.admin()
    let metadata = try admin.metadata(["there", "gone"], timeoutMilliseconds: timeoutMilliseconds)
    #expect(metadata.partitionCounts == ["there": 3] && metadata.missing == ["gone"])
  }

  @Test func `an invalid topic is refused before anything is sent`() throws {
    let admin = try fixture.admin()
    let error = #expect(throws: KafkaError.self) {
      try admin.createTopics([TopicSpecification("none", partitions: -2)], timeoutMilliseconds: 2_000)
    }
    #expect(error?.kind == .invalidArgument)
    #expect(error?.message.contains("create topic none with -2 partitions") == true)
  }

  @Test func `empty requests do nothing, and a closed client reports that`() throws {
    let admin = try fixture.admin()
    #expect(try admin.createTopics([], timeoutMilliseconds: 1).isEmpty)
    #expect(try admin.deleteTopics([], timeoutMilliseconds: 1).isEmpty)
    #expect(try admin.describeConfigurations([], timeoutMilliseconds: 1).isEmpty)
    try admin.close(timeoutMilliseconds: timeoutMilliseconds)
    try admin.close(timeoutMilliseconds: timeoutMilliseconds)
    let error = #expect(throws: KafkaError.self) {
      try admin.describeConfigurations(["feeds"], timeoutMilliseconds: 1)
    }
    #expect(error?.kind == .closed)
  }
}
