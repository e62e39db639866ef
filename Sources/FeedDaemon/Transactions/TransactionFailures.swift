import FeedKafka
import Kafka

/// What has gone wrong with transactions and was not reported yet, and how large batches may be because of it.
struct TransactionFailures {
  /// What a call failed with last, since the last commit.
  private(set) var last: KafkaError?
  /// What the producer that is to be replaced was lost for.
  private(set) var lossCause: KafkaError?
  /// Records of the transaction that could not be delivered.
  private(set) var undelivered = DeliveryErrors()
  private(set) var batchLimit = BatchLimit()

  /// A call has failed.
  mutating func fail(_ error: KafkaError) { last = error }

  /// A transaction was committed.
  mutating func commit() { last = nil }

  /// The producer is lost.
  mutating func lose() { lossCause = last }

  /// Records could not be delivered. If they came in too large a batch, the next producer's are smaller.
  ///
  /// - Parameter batchBytes: the most bytes of a batch as long as nothing was refused.
  /// - Returns: the new limit in bytes; nil if it stays.
  mutating func take(_ errors: DeliveryErrors, batchBytes: Int) -> Int? {
    if errors.isEmpty { return nil }
    defer { undelivered = errors }
    func isTooLarge(_ error: KafkaError) -> Bool { error.kind == .recordListTooLarge }
    guard !batchLimit.isLeast, errors.errors.contains(where: isTooLarge),
      !undelivered.errors.contains(where: isTooLarge)
    else { return nil }
    batchLimit.shrink(from: batchBytes)
    return batchLimit.bytes
  }

  /// The first error of a record that is refused for good.
  ///
  /// - Parameter isSingle: whether each record came in a batch of its own, so that a batch that is too large is a record.
  func refusal(isSingle: Bool) -> KafkaError? {
    undelivered.errors.first { $0.kind.needsSomebody || isSingle && $0.kind == .recordListTooLarge }
  }

  /// Why a transaction has ended, for the log.
  var cause: String { last.map { "\($0)" } ?? "partitions were lost, or there was no time left" }

  /// Hands out the errors of records to report them, and forgets them and what the last call failed with.
  mutating func takeUndelivered() -> [KafkaError] {
    defer {
      undelivered = DeliveryErrors()
      last = nil
    }
    return undelivered.errors
  }
}
