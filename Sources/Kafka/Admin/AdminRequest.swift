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
