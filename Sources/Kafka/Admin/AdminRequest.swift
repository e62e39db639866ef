import CRdkafka

/// One admin request: its options, the queue for its result, and the wait for it.
struct AdminRequest {
  enum Kind {
    case createTopics
    case deleteTopics
    case describeConfigurations

    fileprivate var operation: rd_kafka_admin_op_t {
      switch self {
      case .createTopics: RD_KAFKA_ADMIN_OP_CREATETOPICS
      case .deleteTopics: RD_KAFKA_ADMIN_OP_DELETETOPICS
      case .describeConfigurations: RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS
      }
    }
  }

  /// Why a request as a whole failed.
  struct Failure: Error {
    let code: KafkaErrorCode
    let detail: String?

    func error(_ action: String, client: OpaquePointer) -> KafkaError {
      .make(code, action, detail: detail, client: client)
    }
  }

  private let client: OpaquePointer
  private let kind: Kind

  /// The additional wait after librdkafka's own timeout, whose error is more specific than ours.
  private static let graceMilliseconds: Int32 = 500

  init(_ client: OpaquePointer, _ kind: Kind) {
    self.client = client
    self.kind = kind
  }

  /// Sends the request and waits for the result.
  ///
  /// - Parameter body: sends the request with these options, and its result to this queue.
  func send(
    _ timeoutMilliseconds: Int32,
    _ body: (_ options: OpaquePointer?, _ queue: OpaquePointer?) -> Void
  ) -> Result<AdminAnswer, Failure> {
    let options = rd_kafka_AdminOptions_new(client, kind.operation)
    defer { rd_kafka_AdminOptions_destroy(options) }
    // librdkafka rejects 0 ms and more than an hour.
    let timeout = min(max(1, timeoutMilliseconds), 3_600_000)
    let (code, text) = withErrorText { rd_kafka_AdminOptions_set_request_timeout(options, timeout, $0, $1) }
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      return .failure(Failure(code: KafkaErrorCode(code), detail: text))
    }
    if kind == .createTopics || kind == .deleteTopics {
      let (code, text) = withErrorText {
        rd_kafka_AdminOptions_set_operation_timeout(options, timeout, $0, $1)
      }
      guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
        return .failure(Failure(code: KafkaErrorCode(code), detail: text))
      }
    }
    // librdkafka discards a result that arrives after the queue was destroyed.
    let queue = rd_kafka_queue_new(client)
    defer { rd_kafka_queue_destroy(queue) }
    body(options, queue)
    guard let event = rd_kafka_queue_poll(queue, timeout + Self.graceMilliseconds) else {
      return .failure(Failure(code: .timedOut, detail: "no answer within \(timeout) ms"))
    }
    let answer = AdminAnswer(taking: event)
    if let failure = answer.failure {
      return .failure(failure)
    }
    return .success(answer)
  }
}

/// The answer to an admin request: librdkafka's event, destroyed with this object.
final class AdminAnswer {
  private let event: OpaquePointer

  init(taking event: OpaquePointer) {
    self.event = event
  }

  deinit {
    rd_kafka_event_destroy(event)
  }

  /// Why the request as a whole failed; nil if the brokers answered it.
  var failure: AdminRequest.Failure? {
    let code = rd_kafka_event_error(event)
    guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    let text = rd_kafka_event_error_string(event).map { String(cString: $0) }
    return AdminRequest.Failure(code: KafkaErrorCode(code), detail: text)
  }

  /// The errors of topics that were not created or deleted.
  ///
  /// - Parameter verb: `create` or `delete`.
  func topicErrors(_ verb: String) -> [String: KafkaError] {
    var count = 0
    let topics =
      rd_kafka_event_CreateTopics_result(event).flatMap { rd_kafka_CreateTopics_result_topics($0, &count) }
      ?? rd_kafka_event_DeleteTopics_result(event).flatMap { rd_kafka_DeleteTopics_result_topics($0, &count) }
    var errors: [String: KafkaError] = [:]
    for index in 0..<count {
      guard let topic = topics?[index], let name = rd_kafka_topic_result_name(topic) else { continue }
      let text = String(cString: name)
      errors[text] = Self.error(
        rd_kafka_topic_result_error(topic),
        rd_kafka_topic_result_error_string(topic),
        "\(verb) topic \(text)"
      )
    }
    return errors
  }

  /// The settings of each requested topic, or the error.
  var configurations: [String: Result<[String: String], KafkaError>] {
    guard let result = rd_kafka_event_DescribeConfigs_result(event) else { return [:] }
    var count = 0
    let resources = rd_kafka_DescribeConfigs_result_resources(result, &count)
    var configurations: [String: Result<[String: String], KafkaError>] = [:]
    for index in 0..<count {
      guard let resource = resources?[index], let name = rd_kafka_ConfigResource_name(resource) else {
        continue
      }
      let topic = String(cString: name)
      let error = Self.error(
        rd_kafka_ConfigResource_error(resource),
        rd_kafka_ConfigResource_error_string(resource),
        "read the settings of topic \(topic)"
      )
      configurations[topic] = error.map { .failure($0) } ?? .success(Self.settings(of: resource))
    }
    return configurations
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

  private static func error(
    _ code: rd_kafka_resp_err_t,
    _ text: UnsafePointer<CChar>?,
    _ action: String
  ) -> KafkaError? {
    guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    return .make(KafkaErrorCode(code), action, detail: text.map { String(cString: $0) })
  }
}
