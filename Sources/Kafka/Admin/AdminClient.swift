import CRdkafka

/// Creates topics, reads their settings, and lists the members of a group.
///
/// **One thread.** An admin client is not `Sendable`; each call blocks up to its timeout.
///
/// Brokers answer for each topic separately, so results are values: a call throws only if it cannot be made. A failure
/// of the whole request (no broker reachable, or the request unknown to all) is reported for each topic.
///
/// An `EmbeddedCluster` supports no admin requests: every result is an error there.
public final class AdminClient: KafkaClient {
  /// Creates a client, which connects in the background.
  ///
  /// - Parameters:
  ///   - configuration: librdkafka properties that consumers and producers share.
  ///   - log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` with the invalid property and its value.
  public init(configuration: KafkaConfiguration, log: @escaping KafkaLogHandler) throws(KafkaError) {
    super.init(try ClientHandle(RD_KAFKA_PRODUCER, configuration, log: log) { _ in })
  }

  /// Whether the brokers belong to an ``EmbeddedCluster``. Waits for their metadata; false if none arrives in time.
  public func isOnEmbeddedCluster(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    let id = ClientHandle.clusterID(
      try client("read the cluster's id"),
      timeoutMilliseconds: timeoutMilliseconds
    )
    return EmbeddedCluster.isID(id)
  }

  /// Creates topics and waits until the cluster has accepted them.
  ///
  /// It may take another moment until every broker knows the topics: see ``TopicWait``.
  ///
  /// - Returns: the topics that were not created, with the reasons; empty if all were. An existing topic is among
  ///   them, with ``KafkaErrorCode/topicAlreadyExists``.
  /// - Throws: `_DESTROY` if the client is closed; `_INVALID_ARG` with an invalid topic.
  public func createTopics(
    _ topics: [TopicSpecification],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: KafkaError] {
    if topics.isEmpty { return [:] }
    var list: [OpaquePointer?] = []
    defer { rd_kafka_NewTopic_destroy_array(&list, list.count) }
    for topic in topics { try Self.append(topic, to: &list) }
    let operation = RD_KAFKA_ADMIN_OP_CREATETOPICS
    return try request("create topic", topics.map(\.name), operation, timeoutMilliseconds) {
      rd_kafka_CreateTopics($0, &list, list.count, $1, $2)
    } read: {
      var count = 0
      let result = rd_kafka_event_CreateTopics_result($0)
      return Self.topics(rd_kafka_CreateTopics_result_topics(result, &count), count, "create topic")
    }.compactMapValues(Self.error)
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
    var list = topics.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
    defer { rd_kafka_ConfigResource_destroy_array(&list, list.count) }
    let action = "read the settings of topic"
    return try request(action, topics, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeoutMilliseconds) {
      rd_kafka_DescribeConfigs($0, &list, list.count, $1, $2)
    } read: { event in
      var count = 0
      let result = rd_kafka_event_DescribeConfigs_result(event)
      let resources = rd_kafka_DescribeConfigs_result_resources(result, &count)
      return UnsafeBufferPointer(start: resources, count: count).compactMap(\.self).map { resource in
        let topic = String(cString: rd_kafka_ConfigResource_name(resource))
        let (code, text) = (
          rd_kafka_ConfigResource_error(resource), rd_kafka_ConfigResource_error_string(resource)
        )
        return (topic, Self.result(code, text, "\(action) \(topic)").map { Self.settings(of: resource) })
      }
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
      try pause(milliseconds: min(Self.pauseMilliseconds, deadline.remainingMilliseconds))
    }
  }

  /// Serves the client for this time.
  package func pause(milliseconds: Int32) throws(KafkaError) {
    _ = rd_kafka_poll(try client("wait"), milliseconds)
  }

  /// Releases all resources; a second call has no effect.
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

  // MARK: Requests

  /// The additional wait after librdkafka's own timeout, whose error is more specific than ours.
  private static let graceMilliseconds: Int32 = 500

  /// Sends an admin request and waits for the result of each topic.
  ///
  /// - Parameters:
  ///   - action: without the topic's name, for errors.
  ///   - send: sends the request with these options, and its result to this queue.
  ///   - read: reads the result from the event in which librdkafka returns it.
  func request<Part>(
    _ action: String,
    _ topics: [String],
    _ operation: rd_kafka_admin_op_t,
    _ timeoutMilliseconds: Int32,
    _ send: (_ client: OpaquePointer?, _ options: OpaquePointer?, _ queue: OpaquePointer?) -> Void,
    read: (_ event: OpaquePointer) -> [(String, Result<Part, KafkaError>)]
  ) throws(KafkaError) -> [String: Result<Part, KafkaError>] {
    let client = try client("\(action)s")
    // librdkafka rejects 0 ms and more than an hour.
    let timeout = min(max(1, timeoutMilliseconds), 3_600_000)
    let options = rd_kafka_AdminOptions_new(client, operation)
    defer { rd_kafka_AdminOptions_destroy(options) }
    // librdkafka discards a result that arrives after the queue was destroyed.
    let queue = rd_kafka_queue_new(client)
    defer { rd_kafka_queue_destroy(queue) }
    var (code, text) = withErrorText { rd_kafka_AdminOptions_set_request_timeout(options, timeout, $0, $1) }
    if code == RD_KAFKA_RESP_ERR_NO_ERROR, operation != RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS {
      (code, text) = withErrorText { rd_kafka_AdminOptions_set_operation_timeout(options, timeout, $0, $1) }
    }
    if code == RD_KAFKA_RESP_ERR_NO_ERROR {
      send(client, options, queue)
      (code, text) = (RD_KAFKA_RESP_ERR__TIMED_OUT, "no answer within \(timeout) ms")
      if let event = rd_kafka_queue_poll(queue, timeout + Self.graceMilliseconds) {
        defer { rd_kafka_event_destroy(event) }
        code = rd_kafka_event_error(event)
        if code == RD_KAFKA_RESP_ERR_NO_ERROR { return Dictionary(read(event)) { $1 } }
        text = rd_kafka_event_error_string(event).map { String(cString: $0) } ?? ""
      }
    }
    let failures = topics.map { topic in
      (topic, KafkaError.make(KafkaErrorCode(code), "\(action) \(topic)", detail: text, client: client))
    }
    return Dictionary(failures.map { ($0, .failure($1)) }) { first, _ in first }
  }

  /// - Throws: `_INVALID_ARG` with the topic and the invalid value.
  private static func append(
    _ topic: TopicSpecification,
    to list: inout [OpaquePointer?]
  ) throws(KafkaError) {
    let action =
      "create topic \(topic.name) with \(topic.partitions) partitions, replication "
      + "factor \(topic.replicationFactor)"
    let (pointer, text) = withErrorText {
      rd_kafka_NewTopic_new(topic.name, topic.partitions, topic.replicationFactor, $0, $1)
    }
    guard let pointer else { throw .make(.invalidArgument, action, detail: text) }
    list.append(pointer)
    for (name, value) in topic.configuration.sorted(by: { $0.key < $1.key }) {
      let code = rd_kafka_NewTopic_set_config(pointer, name, value)
      try KafkaError.check(code, "\(action) and \(name) = \"\(value)\"")
    }
  }

  static func topics(
    _ results: UnsafeMutablePointer<OpaquePointer?>?,
    _ count: Int,
    _ action: String
  ) -> [(String, Result<Void, KafkaError>)] {
    UnsafeBufferPointer(start: results, count: count).compactMap(\.self).map { topic in
      let name = String(cString: rd_kafka_topic_result_name(topic))
      let (code, text) = (rd_kafka_topic_result_error(topic), rd_kafka_topic_result_error_string(topic))
      return (name, result(code, text, "\(action) \(name)"))
    }
  }

  private static func settings(of resource: OpaquePointer) -> [String: String] {
    var count = 0
    let entries = rd_kafka_ConfigResource_configs(resource, &count)
    var settings: [String: String] = [:]
    for index in 0..<count {
      guard let entry = entries?[index], rd_kafka_ConfigEntry_is_sensitive(entry) != 1,
        let name = rd_kafka_ConfigEntry_name(entry), let value = rd_kafka_ConfigEntry_value(entry)
      else { continue }
      settings[String(cString: name)] = String(cString: value)
    }
    return settings
  }

  private static func result(
    _ code: rd_kafka_resp_err_t,
    _ text: UnsafePointer<CChar>?,
    _ action: String
  ) -> Result<Void, KafkaError> {
    guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return .success(()) }
    return .failure(.make(KafkaErrorCode(code), action, detail: text.map { String(cString: $0) }))
  }

  static func error(_ result: Result<Void, KafkaError>) -> KafkaError? {
    if case .failure(let error) = result { error } else { nil }
  }
}

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
