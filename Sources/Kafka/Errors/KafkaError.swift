/// What went wrong in the Kafka client, what it concerned, and what to do about it.
///
/// Three questions decide what a caller does:
///
/// - `isRetriable`: the same call may succeed later. Retry it, with a bound.
/// - `requiresAbort`: the transaction cannot be committed. Abort it and read its input again.
/// - `isFatal`: the client will not work again. Close it and make a new one, or stop.
///
/// An error that is none of the three is a mistake of the caller or of the configuration.
public struct KafkaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The error number, to be compared with.
  public let kind: KafkaErrorCode

  /// One sentence that names what was tried and on what (topic, partition, broker, property), why it failed
  /// and, where there is something to do, the remedy.
  public let message: String

  /// Whether the same call may succeed when it is made again.
  public let isRetriable: Bool

  /// Whether the client has failed for good.
  public let isFatal: Bool

  /// Whether the current transaction must be aborted.
  public let requiresAbort: Bool

  /// Whether TLS or authentication failed; the reason has been logged.
  public var isConnectionFault: Bool { kind == .tls || kind == .authentication }

  /// The stable name of the error, for example `_TIMED_OUT`; to be logged and counted by.
  public var code: String { kind.name }

  /// librdkafka's number of the error.
  public var numericCode: Int32 { kind.rawValue }

  public var description: String { "\(code): \(message)" }
}
