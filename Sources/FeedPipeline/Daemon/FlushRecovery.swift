import Kafka

/// Decides what to do about an error of a flush's transaction.
struct FlushRecovery {
  /// How far the transaction had come.
  enum Stage {
    /// Nothing can have been committed yet.
    case producing
    /// The commit was asked for.
    case committing
  }

  enum Action: Equatable {
    /// Make the same call again, until the time is up.
    case retry
    /// Abort, roll the store back, and read the input again from the committed offsets.
    case abort
    /// The process ends: going on needs somebody, or what came of the commit is not known.
    case stop
  }

  /// Flushes in a row that were aborted.
  private(set) var abortedInARow = 0

  /// After so many in a row it is no passing disturbance.
  static let mostAbortedInARow = 20

  /// - Parameter hasTime: whether there is time to try again.
  func action(for error: KafkaError, in stage: Stage, hasTime: Bool) -> Action {
    if error.isFatal { return .stop }
    if error.requiresAbort { return abortedInARow < Self.mostAbortedInARow ? .abort : .stop }
    if error.isRetriable, hasTime { return .retry }
    switch stage {
    case .committing:
      return .stop
    case .producing where error.kind == .messageTooLarge:
      // It would be as large the next time.
      return .stop
    case .producing:
      return abortedInARow < Self.mostAbortedInARow ? .abort : .stop
    }
  }

  mutating func committed() { abortedInARow = 0 }
  mutating func aborted() { abortedInARow += 1 }

  /// How long to wait before the input is read again: longer from time to time, as a broker may be starting.
  var waitMilliseconds: Int32 {
    abortedInARow <= 1 ? 0 : Int32(min(1_000, 10 << min(abortedInARow, 10)))
  }
}
