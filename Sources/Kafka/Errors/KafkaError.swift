/// An error of the Kafka client: what failed, on what, and what to do about it.
///
/// Three questions decide what a caller does:
///
/// - `isRetriable`: the same call may succeed later. Retry it, with a limit.
/// - `requiresAbort`: the transaction cannot be committed. Abort it and read its input again.
/// - `isFatal`: the client has failed permanently. Close it and create a new one, or stop.
///
/// An error with none of these is a mistake in the caller or the configuration.
public struct KafkaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The error code, for comparisons.
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

  /// librdkafka's error number.
  public var numericCode: Int32 { kind.rawValue }

  public var description: String { "\(code): \(message)" }
}
