import FeedStore
import Service
import Synchronization

@testable import FeedDaemon

/// Watches a daemon until it has committed all records.
final class FaultRun: Sendable {
  let stop = StopRequest()
  private let records: Int
  private let state = Mutex(State())

  private struct State {
    var ways: [FaultTests.Way] = []
    var committed = 0
    /// What was committed when the reading began again from the start.
    var committedBefore = 0
  }

  init(records: Int) { self.records = records }

  /// How the daemon got over what failed.
  var ways: [FaultTests.Way] { state.withLock { $0.ways } }

  func note(_ event: DaemonEvent) {
    let isDone = state.withLock { state in
      switch event {
      case .withdrawn: state.ways.append(.withdrawn)
      case .recovering:
        state.ways.append(.recovering)
        // Of all partitions; what moves is restored by itself.
        state.committedBefore = state.committed
      case .committed(let counters): state.committed = counters.records
      default: break
      }
      return state.committed - state.committedBefore >= records
    }
    if isDone { stop.request() }
  }
}
