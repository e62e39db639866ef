import FeedStore
package import Kafka
package import Service
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

  package init(number: Int) { self.number = number }

  package var statistics: WorkerStatistics { state.withLock { $0 } }
  /// Records that were taken and are not committed.
  package var waitingRecords: Int { waiting.load(ordering: .relaxed) }
  /// Milliseconds since the worker was in its loop.
  package func silence(at now: Int64) -> Int64 { max(0, now - lastHeartbeat.load(ordering: .relaxed)) }

  /// The worker goes on: told in each turn of whatever it loops in.
  package func heartbeat() { lastHeartbeat.store(MonotonicClock.coarseMilliseconds(), ordering: .relaxed) }

  /// The same, with the records that wait.
  package func heartbeat(waitingRecords: Int) {
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
  package func record(_ kind: ClientKind, _ statistics: ClientStatistics) {
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

/// Why a worker's producer was replaced.
package enum ReplacementReason: String, CaseIterable, Sendable {
  case aborted
  /// It lost a connection during its last transaction.
  case connectionLost = "connection-lost"
  /// Another producer has its transactional id, or its epoch was raised.
  case fenced
  /// librdkafka gave it up.
  case fatal
  /// It is not known whether its transaction was committed.
  case unknownOutcome = "unknown-outcome"
}

/// What became of a transaction.
package enum TransactionOutcome: String, CaseIterable, Sendable {
  case committed
  /// It was aborted, and its input is read again.
  case withdrawn
  /// It is not known whether it was committed: feeds are restored.
  case unknown
  /// It was aborted for a reason that an operator has to remove.
  case refused
}

/// What a rebalance of the group did with a worker's partitions.
package enum RebalanceKind: String, CaseIterable, Sendable {
  case assigned
  /// They were given up in order.
  case revoked
  /// Others may have had them already.
  case lost
}

/// What restoring feeds has taken so far.
package struct RestoreStatistics: Sendable {
  /// Records of the changesets topic that were read, and bytes of their keys and values.
  package private(set) var records = 0
  package private(set) var bytes = 0
  /// Records that are left of the restoration under way.
  package private(set) var remaining: Int64 = 0
  /// How long restorations took that came to their end.
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

  /// What was restored is dropped.
  package mutating func abandon() { remaining = 0 }

  package mutating func add(_ other: RestoreStatistics) {
    records += other.records
    bytes += other.bytes
    remaining += other.remaining
    seconds.add(other.seconds)
  }
}
