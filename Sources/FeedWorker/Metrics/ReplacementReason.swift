import Kafka

/// Why a worker's producer was replaced.
enum ReplacementReason: String, CaseIterable, Sendable {
  /// Its transaction was aborted.
  case aborted
  /// Another producer has its transactional id, or its epoch was raised.
  case fenced
  /// librdkafka gave it up.
  case fatal
  /// It is not known whether its transaction was committed.
  case unknownOutcome = "unknown-outcome"
  /// Its transactions may take long, and need no longer.
  case renewed

  /// - Parameters:
  ///   - state: the machine's, when a producer is to be replaced.
  ///   - error: what a call failed with last; nil if there was no time left.
  init(_ state: TransactionMachine.State, _ error: KafkaError?) {
    switch state {
    case .retiring: self = .renewed
    case .replacing: self = .aborted
    default:
      switch error?.kind {
      case .fenced, .producerFenced, .invalidProducerEpoch, .invalidTransactionState: self = .fenced
      default: self = error?.isFatal == true ? .fatal : .unknownOutcome
      }
    }
  }
}
