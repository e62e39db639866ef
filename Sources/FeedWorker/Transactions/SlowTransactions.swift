/// Counts the transactions in a row that failed as they took the time they had, so that the next gets more.
struct SlowTransactions: Equatable {
  private(set) var inARow = 0
  /// When the transaction under way was begun, in milliseconds of the monotonic clock; nil if there is none, or it has
  /// failed already.
  private var start: Int64?

  /// A transaction was begun.
  mutating func begin(at now: Int64) { start = now }

  /// The transaction was committed.
  mutating func commit() { self = SlowTransactions() }

  /// The transaction has failed; told more than once, it counts once.
  ///
  /// - Parameter timeoutMilliseconds: how long it had. What ends by its time may do so a little before.
  mutating func fail(at now: Int64, timeoutMilliseconds: Int) {
    guard let begun = start else { return }
    start = nil
    if now - begun >= Int64(timeoutMilliseconds) * 3 / 4 { inARow += 1 }
  }
}
