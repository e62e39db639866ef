import Kafka

/// What an error of a transactional producer asks for.
enum TransactionErrorClass: Equatable {
  /// The same call may succeed later.
  case retriable
  /// The transaction cannot be committed; the producer is good for another.
  case abortable
  /// The producer will not work again, or what became of its transaction is not known to it.
  case fatal
  /// It would fail in the same way for every producer, until somebody changes something.
  case permanent

  /// - Parameter isCommitting: whether the end of the transaction was asked for, so that it may have happened.
  init(_ error: KafkaError, isCommitting: Bool) {
    self =
      if error.kind.needsSomebody {
        .permanent
      } else if error.isFatal {
        .fatal
      } else if error.requiresAbort {
        .abortable
      } else if error.isRetriable {
        .retriable
      } else {
        // Nobody says what it means. A commit may have happened, so it must not be taken for aborted.
        isCommitting ? .fatal : .abortable
      }
  }
}

extension KafkaErrorCode {
  /// Whether only a change of the configuration, of topics or of access rights can help.
  var needsSomebody: Bool {
    switch self {
    case .messageTooLarge, .invalidRecord, .invalidTimestamp, .policyViolation, .unsupportedForMessageFormat,
      .invalidTransactionTimeout, .unsupportedFeature, .unsupportedVersion:
      true
    default: isRefusal
    }
  }

  /// Whether the brokers refuse access.
  var isRefusal: Bool {
    switch self {
    case .topicAuthorizationFailed, .groupAuthorizationFailed, .transactionalIDAuthorizationFailed,
      .clusterAuthorizationFailed:
      true
    default: false
    }
  }
}
