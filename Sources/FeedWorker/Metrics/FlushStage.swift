/// A part of what a flush takes its time for.
enum FlushStage: String, CaseIterable, Sendable {
  /// Finding out what changed in each feed, and writing it down.
  case plan
  /// Beginning transactions, and handing their records to librdkafka.
  case produce
  /// Sending the offsets that belong to the transaction.
  case offsets
  /// Waiting until the brokers have the records, and have committed.
  case commit
}
