import CRdkafka

/// Creates and deletes topics, reads their settings, and tells who is in a group.
///
/// **One thread.** An admin client is not `Sendable`; its calls block, each for at most the time it is given.
///
/// Brokers answer for each topic, so the answers are values: a call throws only what keeps it from being
/// made. What fails as a whole (no broker can be reached, or none knows the request) fails for each topic.
///
/// An `EmbeddedCluster` knows no admin requests: there every answer is an error.
public final class AdminClient {
  /// nil once closed.
  private var handle: ClientHandle?

  /// Makes a client; it connects on its own.
  ///
  /// - Parameters:
  ///   - configuration: librdkafka's properties, those that consumers and producers share.
  ///   - log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` naming the property and the value that is not accepted.
  public init(configuration: KafkaConfiguration, log: @escaping KafkaLogHandler) throws(KafkaError) {
    handle = try ClientHandle(RD_KAFKA_PRODUCER, configuration, log: log) { _ in }
  }

  /// Creates topics and waits until the cluster has taken note.
  ///
  /// Brokers may need a moment more until each of them tells of the topic: see `waitForTopics`.
  ///
  /// - Returns: the topics that were not created, each with the reason; empty if all were. A topic that
  ///   existed is among them, with ``KafkaErrorCode/topicAlreadyExists``.
  /// - Throws: `_DESTROY` if the client is closed; `_INVALID_ARG` naming a topic that cannot be.
  public func createTopics(
    _ topics: [TopicSpecification],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: KafkaError] {
    if topics.isEmpty {
      return [:]
    }
    let client = try client("create topics")
    let request = try NewTopicList(topics)
    let answer = AdminRequest(client, .createTopics).send(timeoutMilliseconds) { options, queue in
      var pointers = request.pointers
      rd_kafka_CreateTopics(client, &pointers, pointers.count, options, queue)
    }
    var failures: [String: KafkaError] = [:]
    switch answer {
    case .success(let answer):
      for (topic, error) in answer.createdTopics { failures[topic] = error }
    case .failure(let failure):
      for topic in topics {
        failures[topic.name] = failure.error("create topic \(topic.name)", client: client)
      }
    }
    return failures
  }

  /// Deletes topics with all they hold; brokers may need a moment more until none tells of them.
  ///
  /// What a group has committed for them is forgotten by the brokers as well.
  ///
  /// - Returns: the topics that were not deleted, each with the reason; empty if all were.
  /// - Throws: `_DESTROY` if the client is closed.
  public func deleteTopics(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: KafkaError] {
    if topics.isEmpty {
      return [:]
    }
    let client = try client("delete topics")
    let request = DeletedTopicList(topics)
    let answer = AdminRequest(client, .deleteTopics).send(timeoutMilliseconds) { options, queue in
      var pointers = request.pointers
      rd_kafka_DeleteTopics(client, &pointers, pointers.count, options, queue)
    }
    var failures: [String: KafkaError] = [:]
    switch answer {
    case .success(let answer):
      for (topic, error) in answer.deletedTopics { failures[topic] = error }
    case .failure(let failure):
      for topic in topics { failures[topic] = failure.error("delete topic \(topic)", client: client) }
    }
    return failures
  }

  /// Reads all settings of topics, those that are the brokers' defaults included.
  ///
  /// - Returns: of each topic the settings by name, or why they cannot be told. Secrets are left out.
  /// - Throws: `_DESTROY` if the client is closed.
  public func describeConfigurations(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: Result<[String: String], KafkaError>] {
    if topics.isEmpty {
      return [:]
    }
    let client = try client("read the settings of topics")
    let request = TopicResourceList(topics)
    let answer = AdminRequest(client, .describeConfigurations).send(timeoutMilliseconds) { options, queue in
      var pointers = request.pointers
      rd_kafka_DescribeConfigs(client, &pointers, pointers.count, options, queue)
    }
    switch answer {
    case .success(let answer):
      return answer.configurations
    case .failure(let failure):
      let errors = topics.map { ($0, failure.error("read the settings of topic \($0)", client: client)) }
      return Dictionary(errors.map { ($0, .failure($1)) }) { first, _ in first }
    }
  }

  /// Reads the settings of topics that exist, and asks again for those that the broker which answers has not heard of yet,
  /// or until the time is over.
  ///
  /// - Returns: as ``describeConfigurations(_:timeoutMilliseconds:)`` does.
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

  /// Asks the brokers who is in a consumer group. A group that does not exist has no members.
  ///
  /// - Throws: what the brokers answer, naming the group; `_DESTROY` if the client is closed.
  public func describeGroup(_ group: String, timeoutMilliseconds: Int32) throws(KafkaError) -> [GroupMember] {
    let client = try client("describe group \(group)")
    return try GroupListing(client, of: group, timeoutMilliseconds: timeoutMilliseconds).members()
  }

  /// Asks which of the topics exist and how many partitions they have; does not create any.
  public func metadata(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata {
    _ = try client("read metadata")
    return try handle?.metadata(topics, timeoutMilliseconds: timeoutMilliseconds) ?? TopicMetadata()
  }

  /// Waits until the cluster tells of all these topics, or the time is over.
  ///
  /// - Parameter answerMilliseconds: how long the brokers have for the first answer, where that is more.
  /// - Returns: what it told last; `missing` has the topics that it did not tell of.
  /// - Throws: why it told nothing at all.
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
        // A new topic may not have leaders yet; and the last question may be cut short by the time left for it.
        guard error.isRetriable, !answerDeadline.hasPassed || told != nil else { throw error }
      }
      if deadline.hasPassed, let told { return told }
      let pause = min(Self.pauseMilliseconds, (told == nil ? answerDeadline : deadline).remainingMilliseconds)
      _ = rd_kafka_poll(try client("wait for topics"), pause)
      if deadline.hasPassed, let told { return told }
    }
  }

  /// Frees everything; closing again does nothing.
  ///
  /// - Throws: `_TIMED_OUT` if the client was not gone in time; it goes in the background.
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
