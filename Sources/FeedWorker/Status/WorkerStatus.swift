import FeedStore
import Kafka
import Service
import Synchronization

/// What one worker reports; readable on any thread at any time.
///
/// The worker tells it once for a batch, a flush or a step, so a lock costs it nothing that counts.
package final class WorkerStatus: Sendable {
  /// From 0.
  package let number: Int
  private let state = Mutex(WorkerStatistics())
  /// When it was in its loop last, in milliseconds of the monotonic clock.
  private let lastHeartbeat = Atomic(MonotonicClock.coarseMilliseconds())
  private let waiting = Atomic(0)

  init(number: Int) { self.number = number }

  package var statistics: WorkerStatistics { state.withLock { $0 } }
  /// Records that were taken and are not committed.
  package var waitingRecords: Int { waiting.load(ordering: .relaxed) }
  /// Milliseconds since the worker was in its loop.
  func silence(at now: Int64) -> Int64 { max(0, now - lastHeartbeat.load(ordering: .relaxed)) }

  /// The worker goes on: told in each turn of whatever it loops in.
  package func heartbeat() { lastHeartbeat.store(MonotonicClock.coarseMilliseconds(), ordering: .relaxed) }

  /// The same, with the records that wait.
  func heartbeat(waitingRecords: Int) {
    heartbeat()
    waiting.store(waitingRecords, ordering: .relaxed)
  }

  package func update(_ change: (inout WorkerStatistics) -> Void) { state.withLock { change(&$0) } }

  /// Input was committed.
  ///
  /// - Parameters:
  ///   - input: what was taken; emptied.
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

  /// A client has told what it counts.
  func record(_ kind: ClientKind, _ statistics: ClientStatistics) {
    state.withLock { $0.clients[kind, default: ClientTotals()].update(statistics) }
  }
}

/// How far a worker is in taking its share of the work.
package enum WorkerPhase: String, CaseIterable, Sendable {
  /// It looks for the topics.
  case starting
  /// The group has not given it its share, or has taken it away.
  case joining
  /// Feeds of its partitions are restored.
  case restoring
  /// It has what the group gave it, be that nothing.
  case running
}
