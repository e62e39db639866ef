import FeedStore
import Kafka
import Service
import Synchronization

/// The reports of one worker; readable on any thread at any time.
///
/// The worker calls it once per batch, flush or step, so the cost of a lock does not matter.
package final class WorkerStatus: Sendable {
  /// The number of the worker, from 0.
  package let number: Int
  private let state = Mutex(WorkerStatistics())
  /// The time of the worker's last loop, in milliseconds of the monotonic clock.
  private let lastHeartbeat = Atomic(MonotonicClock.coarseMilliseconds())
  private let waiting = Atomic(0)

  init(number: Int) { self.number = number }

  package var statistics: WorkerStatistics { state.withLock { $0 } }
  /// The number of records that are applied but not committed.
  package var waitingRecords: Int { waiting.load(ordering: .relaxed) }
  /// Milliseconds since the worker's last loop.
  func silence(at now: Int64) -> Int64 { max(0, now - lastHeartbeat.load(ordering: .relaxed)) }

  /// The worker is alive: called in each iteration of its loops.
  package func heartbeat() { lastHeartbeat.store(MonotonicClock.coarseMilliseconds(), ordering: .relaxed) }

  /// The worker is alive, and has this many waiting records.
  func heartbeat(waitingRecords: Int) {
    heartbeat()
    waiting.store(waitingRecords, ordering: .relaxed)
  }

  package func update(_ change: (inout WorkerStatistics) -> Void) { state.withLock { change(&$0) } }

  /// Input was committed.
  ///
  /// - Parameters:
  ///   - input: the committed records; emptied.
  ///   - topic: a topic's name by its number.
  package func committed(_ input: inout TakenInput, topic: (Int) -> String) {
    state.withLock { state in
      for (number, amount) in input.commit(into: &state.delays) {
        state.input[topic(number), default: TakenInput.Amount()] += amount
      }
    }
  }

  package func ended(_ outcome: TransactionOutcome, withdrawnInARow: Int = 0) {
    state.withLock {
      $0.transactions[outcome, default: 0] += 1
      $0.withdrawnInARow = withdrawnInARow
      if outcome == .committed { $0.lastCommit = WallClock.milliseconds() }
    }
  }

  /// Adds a client's statistics.
  func record(_ kind: ClientKind, _ statistics: ClientStatistics) {
    state.withLock { $0.clients[kind, default: ClientTotals()].update(statistics) }
  }
}

/// The progress of a worker towards its share of the work.
package enum WorkerPhase: String, CaseIterable, Sendable {
  /// Waits for the topics.
  case starting
  /// Has no share from the group, or has lost it.
  case joining
  /// Restores the feeds of its partitions.
  case restoring
  /// Runs with its share, which may be empty.
  case running
}
