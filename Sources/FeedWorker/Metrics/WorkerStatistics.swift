import Feed
package import FeedStore
import Kafka
import Service

/// What one worker has and has done, in numbers.
package struct WorkerStatistics: Sendable {
  package var phase = WorkerPhase.starting
  /// Numbers of the partitions that the group has given it.
  package var partitions: Set<Int32> = []
  /// Those of them whose feeds are being restored.
  package var restoring: Set<Int32> = []
  /// Those of them whose feeds could not be restored.
  package var stopped: Set<Int32> = []
  /// Input records that are not published, where that is known.
  var inputLag: [TopicPartition: Int64] = [:]
  /// What was published.
  package var counters = StoreCounters()
  /// What has become of the rows of each source of `feedstore ingest`.
  package var rows: [String: [String: Int]] = [:]
  /// What was taken of each input topic, and is committed.
  var input: [String: TakenInput.Amount] = [:]
  /// From a record's timestamp to its commit, in seconds.
  var delays = Histogram(Self.delayBounds)
  var flushes = FlushSeconds()
  var transactions: [TransactionOutcome: Int] = [:]
  /// Transactions that were withdrawn since the last one that was committed.
  var withdrawnInARow = 0
  /// When something was committed last, in milliseconds since 1970 UTC; 0 if nothing was.
  var lastCommit: Int64 = 0
  /// Fields of events that had no effect, and how often they occurred.
  var ignoredFields: [IgnoredFields.Name: Int] = [:]
  var rebalances: [RebalanceKind: Int] = [:]
  var replacements: [ReplacementReason: Int] = [:]
  package var content = StoreContent()
  var restore = RestoreStatistics()
  var clients: [ClientKind: ClientTotals] = [:]

  private static let delayBounds = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600,
  ]

  /// The lag by partition number, both input topics together.
  package var lagByNumber: [Int32: Int64] {
    inputLag.reduce(into: [:]) { $0[$1.key.partition, default: 0] += $1.value }
  }

  /// Adds rows of a transaction, by their topics and by what has become of them: a word, or the code of a rejection.
  package mutating func add(_ rows: [String: [String: Int]]) {
    counters.flushes += 1
    self.rows.merge(rows) { $0.merging($1, uniquingKeysWith: +) }
    for code in RejectCode.allCases {
      counters.rejects[code] = self.rows.values.reduce(0) { $0 + ($1[code.rawValue] ?? 0) }
    }
  }

  mutating func add(_ other: WorkerStatistics) {
    partitions.formUnion(other.partitions)
    restoring.formUnion(other.restoring)
    stopped.formUnion(other.stopped)
    inputLag.merge(other.inputLag) { max($0, $1) }
    counters.add(other.counters)
    rows.merge(other.rows) { $0.merging($1, uniquingKeysWith: +) }
    for (topic, amount) in other.input { input[topic, default: TakenInput.Amount()] += amount }
    delays.add(other.delays)
    flushes.add(other.flushes)
    transactions.merge(other.transactions, uniquingKeysWith: +)
    withdrawnInARow = max(withdrawnInARow, other.withdrawnInARow)
    lastCommit = max(lastCommit, other.lastCommit)
    ignoredFields.merge(other.ignoredFields, uniquingKeysWith: +)
    rebalances.merge(other.rebalances, uniquingKeysWith: +)
    replacements.merge(other.replacements, uniquingKeysWith: +)
    content.add(other.content)
    restore.add(other.restore)
    for (kind, client) in other.clients { clients[kind, default: ClientTotals()].add(client) }
  }
}

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

/// How long committed flushes took.
struct FlushSeconds: Sendable {
  private(set) var whole = Histogram(Self.bounds)
  private(set) var stages = Dictionary(
    uniqueKeysWithValues: FlushStage.allCases.map { ($0, Histogram(Self.bounds)) }
  )

  private static let bounds = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]

  mutating func observe(_ clock: FlushClock) {
    whole.observe(clock.wholeSeconds)
    for stage in FlushStage.allCases { stages[stage]?.observe(clock.seconds(stage)) }
  }

  mutating func add(_ other: FlushSeconds) {
    whole.add(other.whole)
    for (stage, histogram) in other.stages { stages[stage]?.add(histogram) }
  }
}

/// How long the stages of the flush under way have taken, in nanoseconds.
struct FlushClock {
  private var stages: [FlushStage: Int64] = [:]
  private var start: Int64 = 0

  mutating func begin() {
    stages = [:]
    start = MonotonicClock.nanoseconds()
  }

  /// A call of a transaction went on from a time until now.
  mutating func add(_ step: TransactionMachine.Step, since time: Int64) {
    let elapsed = MonotonicClock.nanoseconds() - time
    switch step {
    case .begin, .write: stages[.produce, default: 0] += elapsed
    case .addOffsets: stages[.offsets, default: 0] += elapsed
    case .commit: stages[.commit, default: 0] += elapsed
    case .nothing, .register, .abort, .replace: break
    }
  }

  mutating func addPlanning(since time: Int64) {
    let elapsed = MonotonicClock.nanoseconds() - time
    stages[.plan, default: 0] += elapsed
    // The call around it counts all of its time as writing.
    stages[.produce, default: 0] -= elapsed
  }

  func seconds(_ stage: FlushStage) -> Double { Double(max(0, stages[stage] ?? 0)) / 1e9 }

  /// From the beginning until now, in seconds.
  var wholeSeconds: Double { Double(MonotonicClock.nanoseconds() - start) / 1e9 }
}

struct RestoreStatistics: Sendable {
  /// Records of the changesets topic that were read, and bytes of their keys and values.
  private(set) var records = 0
  private(set) var bytes = 0
  /// Records that are left of the restoration under way.
  private(set) var remaining: Int64 = 0
  /// How long restorations took that came to their end.
  private(set) var seconds = Histogram([0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600])

  mutating func read(records: Int, bytes: Int, remaining: Int64) {
    self.records += records
    self.bytes += bytes
    self.remaining = remaining
  }

  mutating func finish(milliseconds: Int64) {
    remaining = 0
    seconds.observe(Double(milliseconds) / 1_000)
  }

  /// What was restored is dropped.
  mutating func abandon() { remaining = 0 }

  mutating func add(_ other: RestoreStatistics) {
    records += other.records
    bytes += other.bytes
    remaining += other.remaining
    seconds.add(other.seconds)
  }
}

/// What a rebalance of the group did with a worker's partitions.
enum RebalanceKind: String, CaseIterable, Sendable {
  case assigned
  /// They were given up in order.
  case revoked
  /// Others may have had them already.
  case lost
}

/// Why a worker's producer was replaced.
enum ReplacementReason: String, CaseIterable, Sendable {
  case aborted
  /// Another producer has its transactional id, or its epoch was raised.
  case fenced
  /// librdkafka gave it up.
  case fatal
  /// It is not known whether its transaction was committed.
  case unknownOutcome = "unknown-outcome"

  /// - Parameters:
  ///   - state: the machine's, when a producer is to be replaced.
  ///   - error: what a call failed with last; nil if there was no time left.
  init(_ state: TransactionMachine.State, _ error: KafkaError?) {
    switch state {
    case .replacing: self = .aborted
    default:
      switch error?.kind {
      case .fenced, .producerFenced, .invalidProducerEpoch, .invalidTransactionState: self = .fenced
      default: self = error?.isFatal == true ? .fatal : .unknownOutcome
      }
    }
  }
}

package enum TransactionOutcome: String, CaseIterable, Sendable {
  case committed
  /// It was aborted, and its input is read again.
  case withdrawn
  /// It is not known whether it was committed: feeds are restored.
  case unknown
  /// It was aborted for a reason that an operator has to remove.
  case refused
}
