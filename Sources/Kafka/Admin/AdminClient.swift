import CRdkafka

/// Creates and deletes topics, reads their settings, and lists the members of a group.
///
/// **One thread.** An admin client is not `Sendable`; its calls block, each for at most the time it is given.
///
/// Brokers answer for each topic separately, so results are values: a call throws only if it cannot be made. A failure
/// of the whole request (no broker reachable, or the request unknown to all) is reported for each topic.
///
/// An `EmbeddedCluster` supports no admin requests: every result is an error there.
public final class AdminClient {
  /// nil after close.
  private var handle: ClientHandle?

  /// Creates a client, which connects in the background.
  ///
  /// - Parameters:
  ///   - configuration: librdkafka properties that consumers and producers share.
  ///   - log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` with the invalid property and its value.
  public init(configuration: KafkaConfiguration, log: @escaping KafkaLogHandler) throws(KafkaError) {
    handle = try ClientHandle(RD_KAFKA_PRODUCER, configuration, log: log) { _ in }
  }

  /// Whether the brokers are those of an ``EmbeddedCluster``. Waits for their metadata; false if there is none in time.
  public func isOnEmbeddedCluster(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    let id = ClientHandle.clusterID(
      try client("read the cluster's id"),
      timeoutMilliseconds: timeoutMilliseconds
    )
    return EmbeddedCluster.isID(id)
  }

  /// Creates topics and waits until the cluster has accepted them.
  ///
  /// It may take another moment until every broker knows the topics: see `waitForTopics`.
  ///
  /// - Returns: the topics that were not created, with the reasons; empty if all were. A topic that already existed is
  ///   among them, with ``KafkaErrorCode/topicAlreadyExists``.
  /// - Throws: `_DESTROY` if the client is closed; `_INVALID_ARG` with an invalid topic.
  public func createTopics(
    _ topics: [TopicSpecification],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: KafkaError] {
    if topics.isEmpty { return [:] }
    let client = try client("create topics")
    let request = try AdminList(topics)
    let answer = AdminRequest(client, .createTopics).send(timeoutMilliseconds) {
      rd_kafka_CreateTopics(client, &request.pointers, request.pointers.count, $0, $1)
    }
    return Self.failures(of: topics.map(\.name), "create", answer, client)
  }

  /// Deletes topics and their records. Brokers may need another moment to forget the topics.
  ///
  /// The brokers also delete the offsets that groups have committed for them.
  ///
  /// - Returns: the topics that were not deleted, with the reasons; empty if all were.
  /// - Throws: `_DESTROY` if the client is closed.
  public func deleteTopics(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: KafkaError] {
    if topics.isEmpty { return [:] }
    let client = try client("delete topics")
    let request = AdminList(topics, rd_kafka_DeleteTopic_new, rd_kafka_DeleteTopic_destroy_array)
    let answer = AdminRequest(client, .deleteTopics).send(timeoutMilliseconds) {
      rd_kafka_DeleteTopics(client, &request.pointers, request.pointers.count, $0, $1)
    }
    return Self.failures(of: topics, "delete", answer, client)
  }

  /// The errors of topics that were not created or deleted.
  private static func failures(
    of topics: [String],
    _ verb: String,
    _ answer: Result<AdminAnswer, AdminRequest.Failure>,
    _ client: OpaquePointer
  ) -> [String: KafkaError] {
    switch answer {
    case .success(let answer): answer.topicErrors(verb)
    case .failure(let failure):
      Dictionary(topics.map { ($0, failure.error("\(verb) topic \($0)", client: client)) }) { first, _ in
        first
      }
    }
  }

  /// Reads all settings of topics, including the brokers' defaults.
  ///
  /// - Returns: the settings of each topic by name, or the error. Secrets are left out.
  /// - Throws: `_DESTROY` if the client is closed.
  public func describeConfigurations(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: Result<[String: String], KafkaError>] {
    if topics.isEmpty { return [:] }
    let client = try client("read the settings of topics")
    let request = AdminList(
      topics,
      { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) },
      rd_kafka_ConfigResource_destroy_array
    )
    let answer = AdminRequest(client, .describeConfigurations).send(timeoutMilliseconds) {
      rd_kafka_DescribeConfigs(client, &request.pointers, request.pointers.count, $0, $1)
    }
    switch answer {
    case .success(let answer): return answer.configurations
    case .failure(let failure):
      let errors = topics.map { ($0, failure.error("read the settings of topic \($0)", client: client)) }
      return Dictionary(errors.map { ($0, .failure($1)) }) { first, _ in first }
    }
  }

  /// Reads the settings of existing topics. Repeats the request for topics that the responding broker does not know
  /// yet, until the timeout.
  ///
  /// - Returns: the same as ``describeConfigurations(_:timeoutMilliseconds:)``.
  /// - Throws: `_DESTROY` if the client is closed.
  public func waitForConfigurations(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: Result<[String: String], KafkaError>] {
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    var answers: [String: Result<[String: String], KafkaError>] = [:]
    var remaining = topics
    while true {
      let milliseconds = max(1, deadline.remainingMilliseconds)
      answers.merge(try describeConfigurations(remaining, timeoutMilliseconds: milliseconds)) { $1 }
      remaining = remaining.filter { topic in
        guard case .failure(let error)? = answers[topic] else { return false }
        return error.kind == .unknownTopicOrPartition
      }
      if remaining.isEmpty || deadline.hasPassed { return answers }
      let pause = min(Self.pauseMilliseconds, deadline.remainingMilliseconds)
      _ = rd_kafka_poll(try client("wait for the settings of topics"), pause)
    }
  }

  /// Lists the members of a consumer group. A group that does not exist has no members.
  ///
  /// - Throws: the brokers' error, with the group's name; `_DESTROY` if the client is closed.
  public func describeGroup(_ group: String, timeoutMilliseconds: Int32) throws(KafkaError) -> [GroupMember] {
    let client = try client("describe group \(group)")
    return try GroupListing(client, of: group, timeoutMilliseconds: timeoutMilliseconds).members()
  }

  /// Returns which of the topics exist, and their numbers of partitions. Creates none.
  public func metadata(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata {
    _ = try client("read metadata")
    return try handle?.metadata(topics, timeoutMilliseconds: timeoutMilliseconds) ?? TopicMetadata()
  }

  /// Waits until the cluster knows all these topics, or the timeout passes.
  ///
  /// - Parameter answerMilliseconds: the minimum time for the first response.
  /// - Returns: the last response; `missing` has the topics that it did not include.
  /// - Throws: the error, if there was no response at all.
  public func waitForTopics(
    _ topics: [String],
    timeoutMilliseconds: Int32,
    answerMilliseconds: Int32 = 0
  ) throws(KafkaError) -> TopicMetadata {
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    let answerDeadline = Deadline(milliseconds: max(timeoutMilliseconds, answerMilliseconds))
    var told: TopicMetadata?
    while true {
      do throws(KafkaError) {
        let remaining = max(1, (told == nil ? answerDeadline : deadline).remainingMilliseconds)
        let metadata = try metadata(topics, timeoutMilliseconds: remaining)
        if metadata.missing.isEmpty { return metadata }
        told = metadata
      } catch {
        // A new topic may have no leader yet, and the remaining time may be too short for the last request.
        guard error.isRetriable, !answerDeadline.hasPassed || told != nil else { throw error }
      }
      if deadline.hasPassed, let told { return told }
      let pause = min(Self.pauseMilliseconds, (told == nil ? answerDeadline : deadline).remainingMilliseconds)
      _ = rd_kafka_poll(try client("wait for topics"), pause)
      if deadline.hasPassed, let told { return told }
    }
  }

  /// Releases all resources; a second call does nothing.
  ///
  /// - Throws: `_TIMED_OUT` if the client could not be destroyed in time; that continues in the background.
  public func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    guard let handle else { return }
    self.handle = nil
    if !handle.destroy(timeoutMilliseconds: timeoutMilliseconds) {
      throw .make(.timedOut, "close the admin client within \(timeoutMilliseconds) ms")
    }
  }

  private static let pauseMilliseconds: Int32 = 100

  private func client(_ action: @autoclosure () -> String) throws(KafkaError) -> OpaquePointer {
    guard let handle else { throw .make(.closed, action()) }
    return handle.client
  }
}

/// A topic to create.
public struct TopicSpecification: Sendable, Hashable {
  public var name: String
  /// The number of partitions, at least 1; -1 for the brokers' default.
  public var partitions: Int32
  /// The number of replicas of each partition, at least 1; -1 for the brokers' default.
  public var replicationFactor: Int32
  /// Settings that differ from the brokers' defaults, by name.
  public var configuration: [String: String]

  public init(
    _ name: String,
    partitions: Int32 = -1,
    replicationFactor: Int32 = -1,
    configuration: [String: String] = [:]
  ) {
    self.name = name
    self.partitions = partitions
    self.replicationFactor = replicationFactor
    self.configuration = configuration
  }
}

/// librdkafka's list of the topics of a request, destroyed with this object.
final class AdminList {
  fileprivate(set) var pointers: [OpaquePointer?] = []
  private let destroy: (UnsafeMutablePointer<OpaquePointer?>?, Int) -> Void

  init(
    _ topics: [String],
    _ make: (UnsafePointer<CChar>?) -> OpaquePointer?,
    _ destroy: @escaping (UnsafeMutablePointer<OpaquePointer?>?, Int) -> Void
  ) {
    self.destroy = destroy
    pointers = topics.map { make($0) }
  }

  /// Topics to create.
  ///
  /// - Throws: `_INVALID_ARG` with the topic and the invalid value.
  init(_ topics: [TopicSpecification]) throws(KafkaError) {
    destroy = rd_kafka_NewTopic_destroy_array
    for topic in topics {
      let action =
        "create topic \(topic.name) with \(topic.partitions) partitions, replication "
        + "factor \(topic.replicationFactor)"
      let (pointer, text) = withErrorText {
        rd_kafka_NewTopic_new(topic.name, topic.partitions, topic.replicationFactor, $0, $1)
      }
      guard let pointer else { throw .make(.invalidArgument, action, detail: text) }
      pointers.append(pointer)
      for (name, value) in topic.configuration.sorted(by: { $0.key < $1.key }) {
        let code = rd_kafka_NewTopic_set_config(pointer, name, value)
        try KafkaError.check(code, "\(action) and \(name) = \"\(value)\"")
      }
    }
  }

  deinit { destroy(&pointers, pointers.count) }
}
