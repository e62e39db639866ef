package import Diagnostics
package import Kafka
import OperatingSystem
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

  package init(number: Int) { self.number = number }

  package var statistics: WorkerStatistics { state.withLock { $0 } }
  /// The number of records that are applied but not committed.
  package var waitingRecords: Int { waiting.load(ordering: .relaxed) }
  /// Milliseconds since the worker's last loop.
  package func silence(at now: Int64) -> Int64 { max(0, now - lastHeartbeat.load(ordering: .relaxed)) }

  /// The worker is alive: called in each iteration of its loops.
  package func heartbeat() { lastHeartbeat.store(MonotonicClock.coarseMilliseconds(), ordering: .relaxed) }

  /// The worker is alive, and has this many waiting records.
  package func heartbeat(waitingRecords: Int) {
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
  package func record(_ kind: ClientKind, _ statistics: ClientStatistics) {
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

/// Why a worker's producer was replaced.
package enum ReplacementReason: String, CaseIterable, Sendable {
  case aborted
  /// It lost a connection during its last transaction.
  case connectionLost = "connection-lost"
  /// Another producer has its transactional id, or its epoch was raised.
  case fenced
  /// librdkafka gave it up.
  case fatal
  /// It is unknown whether its transaction was committed.
  case unknownOutcome = "unknown-outcome"
}

/// The outcome of a transaction.
package enum TransactionOutcome: String, CaseIterable, Sendable {
  case committed
  /// It was aborted, and the worker reads its input again.
  case withdrawn
  /// It is unknown whether it was committed; the worker restores the feeds.
  case unknown
  /// It was aborted for a reason that requires an operator.
  case refused
}

/// The effect of a group's rebalance on a worker's partitions.
package enum RebalanceKind: String, CaseIterable, Sendable {
  case assigned
  /// The worker gave them up in order.
  case revoked
  /// Other workers may already have owned them.
  case lost
}

/// The totals of restoring feeds.
package struct RestoreStatistics: Sendable {
  /// The numbers of records read from the changesets topic, and of bytes of their keys and values.
  package private(set) var records = 0
  package private(set) var bytes = 0
  /// The number of records left in the current restoration.
  package private(set) var remaining: Int64 = 0
  /// The durations of completed restorations.
  package private(set) var seconds = Histogram([
    0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600,
  ])

  package mutating func read(records: Int, bytes: Int, remaining: Int64) {
    self.records += records
    self.bytes += bytes
    self.remaining = remaining
  }

  package mutating func finish(milliseconds: Int64) {
    remaining = 0
    seconds.observe(Double(milliseconds) / 1_000)
  }

  /// Records that a restoration was dropped.
  package mutating func abandon() { remaining = 0 }

  package mutating func add(_ other: RestoreStatistics) {
    records += other.records
    bytes += other.bytes
    remaining += other.remaining
    seconds.add(other.seconds)
  }
}
