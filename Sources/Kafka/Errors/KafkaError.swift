import CRdkafka

/// An error of the Kafka client: the failed action, its target, and the remedy.
///
/// Three questions decide what a caller does:
///
/// - `isRetriable`: the same call may succeed later. Retry it, with a limit.
/// - `requiresAbort`: the transaction cannot be committed. Abort it and read its input again.
/// - `isFatal`: the client has failed permanently. Close it and create a new one, or stop.
///
/// An error with none of these is a mistake in the caller or the configuration.
public struct KafkaError: Error, Hashable, Sendable, CustomStringConvertible {
  public let kind: KafkaErrorCode

  /// One sentence with the attempted action, its target (topic, partition, broker, property), the reason, and the
  /// remedy if there is one.
  public let message: String

  /// Whether the same call may succeed if it is repeated.
  public let isRetriable: Bool

  /// Whether the client has failed permanently.
  public let isFatal: Bool

  /// Whether the current transaction must be aborted.
  public let requiresAbort: Bool

  /// Whether TLS or authentication failed; the reason has been logged.
  public var isConnectionFault: Bool { kind == .tls || kind == .authentication }

  /// The stable name of the error, for example `_TIMED_OUT`, for logs and metrics.
  public var code: String { kind.name }

  public var description: String { "\(code): \(message)" }
}

/// The only place where librdkafka's response codes and error objects become a `KafkaError`.
extension KafkaError {
  /// Creates an error from a response code.
  ///
  /// - Parameters:
  ///   - kind: the code. For librdkafka's `_FATAL`, `client` provides the underlying error.
  ///   - action: the attempted action and its target, for example `commit the offset of feeds.items [3]`.
  ///   - detail: librdkafka's message, if it is more specific than the code's text.
  ///   - client: the handle that failed.
  ///   - requiresAbort: whether the current transaction must be aborted.
  package static func make(
    _ kind: KafkaErrorCode,
    _ action: String,
    detail: String? = nil,
    client: OpaquePointer? = nil,
    requiresAbort: Bool = false
  ) -> KafkaError {
    if kind == .fatal, let client, let (cause, reason) = fatalError(of: client) {
      return KafkaError(
        kind: cause,
        message: compose(cause, action, reason),
        isRetriable: false,
        isFatal: true,
        requiresAbort: false
      )
    }
    return KafkaError(
      kind: kind,
      message: compose(kind, action, detail),
      isRetriable: kind.isUsuallyRetriable,
      isFatal: kind == .fatal || kind == .fenced || kind == .closed,
      requiresAbort: requiresAbort
    )
  }

  /// Creates an error from an error object, and destroys the object.
  package static func make(taking error: OpaquePointer, _ action: String) -> KafkaError {
    defer { rd_kafka_error_destroy(error) }
    let kind = KafkaErrorCode(rd_kafka_error_code(error))
    return KafkaError(
      kind: kind,
      message: compose(kind, action, String(cString: rd_kafka_error_string(error))),
      // librdkafka sets the retriable flag only for transaction calls, not for a full queue.
      isRetriable: rd_kafka_error_is_retriable(error) != 0 || kind == .queueFull,
      isFatal: rd_kafka_error_is_fatal(error) != 0,
      requiresAbort: rd_kafka_error_txn_requires_abort(error) != 0
    )
  }

  /// Throws unless the code is "no error".
  static func check(
    _ code: rd_kafka_resp_err_t,
    client: OpaquePointer? = nil,
    _ action: @autoclosure () -> String
  ) throws(KafkaError) {
    if code != RD_KAFKA_RESP_ERR_NO_ERROR { throw make(KafkaErrorCode(code), action(), client: client) }
  }

  /// Throws, and destroys the error object, unless there is none.
  static func check(_ error: OpaquePointer?, _ action: @autoclosure () -> String) throws(KafkaError) {
    if let error { throw make(taking: error, action()) }
  }

  private static func fatalError(of client: OpaquePointer) -> (KafkaErrorCode, String)? {
    let (code, reason) = withErrorText { rd_kafka_fatal_error(client, $0, $1) }
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : (KafkaErrorCode(code), reason)
  }

  private static func compose(_ kind: KafkaErrorCode, _ action: String, _ detail: String?) -> String {
    let reason =
      detail.flatMap { $0.isEmpty ? nil : $0 } ?? String(cString: rd_kafka_err2str(kind.librdkafka))
    guard let remedy = kind.remedy(for: action) else { return "could not \(action): \(reason)" }
    return "could not \(action): \(reason); \(remedy)"
  }
}

/// Calls a function of librdkafka that writes an error text, and returns its result and the text.
func withErrorText<Result>(
  _ body: (UnsafeMutablePointer<CChar>, Int) -> Result
) -> (Result, String) {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
    buffer.initialize(repeating: 0)
    // The buffer has a fixed size above zero, so it has a base address.
    let start = buffer.baseAddress!
    let result = body(start, buffer.count)
    return (result, String(cString: start))
  }
}
