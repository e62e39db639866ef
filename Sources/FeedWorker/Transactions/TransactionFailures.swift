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
  /// Whether a batch of one record was too large.
  private var isRecordTooLarge = false

  /// A call has failed.
  mutating func fail(_ error: KafkaError) { last = error }

  /// A transaction was committed.
  mutating func commit() { last = nil }

  /// The producer is lost.
  mutating func lose() { lossCause = last }

  /// Records could not be delivered. If they came in too large a batch, the next producer's are smaller.
  ///
  /// - Parameter batchBytes: the maximum batch size before the first refusal.
  /// - Returns: the new limit in bytes; nil if it stays.
  mutating func take(_ errors: DeliveryErrors, batchBytes: Int) -> Int? {
    let wasTooLarge = undelivered.errors.contains(where: Self.isTooLarge)
    undelivered.append(errors)
    // Once for each transaction: its other batches were made before.
    guard !wasTooLarge, errors.errors.contains(where: Self.isTooLarge) else { return nil }
    if batchLimit.isLeast {
      isRecordTooLarge = true
      return nil
    }
    batchLimit.shrink(from: batchBytes)
    return batchLimit.bytes
  }

  private static func isTooLarge(_ error: KafkaError) -> Bool { error.kind == .recordListTooLarge }

  /// The first error of a record that is refused for good.
  var refusal: KafkaError? {
    undelivered.errors.first { $0.kind.needsSomebody || isRecordTooLarge && Self.isTooLarge($0) }
  }

  /// Why a transaction has ended, for the log.
  var cause: String { last.map { "\($0)" } ?? "partitions were lost, or there was no time left" }

  /// Hands out the errors of records to report them, and forgets them and what the last call failed with.
  mutating func takeUndelivered() -> [KafkaError] {
    defer {
      undelivered = DeliveryErrors()
      isRecordTooLarge = false
      last = nil
    }
    return undelivered.errors
  }
}
