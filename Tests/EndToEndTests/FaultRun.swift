import FeedStore
import Service
import Synchronization

@testable import FeedWorker

/// Observes a daemon until it has committed all records.
final class FaultRun: Sendable {
  let stop = StopRequest()
  private let records: Int
  private let state = Mutex(State())

  private struct State {
    var ways: [FaultTests.Way] = []
    var committed = 0
    /// What was committed when reading restarted from the beginning.
    var committedBefore = 0
  }

  init(records: Int) { self.records = records }

  /// How the daemon recovered from each failure.
  var ways: [FaultTests.Way] { state.withLock { $0.ways } }

  func note(_ event: DaemonEvent) {
    let isDone = state.withLock { state in
      switch event {
      case .withdrawn: state.ways.append(.withdrawn)
      case .recovering:
        state.ways.append(.recovering)
        // Counts all partitions; partitions that move are restored separately.
        state.committedBefore = state.committed
      case .committed(let counters): state.committed = counters.records
      default: break
      }
      return state.committed - state.committedBefore >= records
    }
    if isDone { stop.request() }
  }
}
