@testable import Kafka

/// Kafka errors for tests of their consequences.
enum KafkaErrors {
  static func error(
    _ kind: KafkaErrorCode,
    isRetriable: Bool = false,
    isFatal: Bool = false,
    requiresAbort: Bool = false
  ) -> KafkaError {
    KafkaError(
      kind: kind,
      message: "could not",
      isRetriable: isRetriable,
      isFatal: isFatal,
      requiresAbort: requiresAbort
    )
  }

  static let retriable = error(.timedOut, isRetriable: true)
  static let abortable = error(.illegalGeneration, requiresAbort: true)
  static let fatal = error(.fenced, isFatal: true)
  static let permanent = error(.topicAuthorizationFailed, requiresAbort: true)
}
