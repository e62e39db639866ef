/// What became of a transaction.
enum TransactionOutcome: String, CaseIterable, Sendable {
  case committed
  /// It was aborted, and its input is read again.
  case withdrawn
  /// It is not known whether it was committed: feeds are restored.
  case unknown
  /// It was aborted for a reason that an operator has to remove.
  case refused
}
