import Feed
package import FeedStore
import Kafka
import Service

/// What one worker has and has done, in numbers.
package struct WorkerFigures: Sendable {
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
  var restore = RestoreFigures()
  var clients: [ClientKind: ClientFigures] = [:]

  private static let delayBounds = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600,
  ]

  /// The lag by partition number, both input topics together.
  package var lagByNumber: [Int32: Int64] {
    inputLag.reduce(into: [:]) { $0[$1.key.partition, default: 0] += $1.value }
  }

  /// Adds those of another worker: what can be added.
  mutating func add(_ other: WorkerFigures) {
    partitions.formUnion(other.partitions)
    restoring.formUnion(other.restoring)
    stopped.formUnion(other.stopped)
    inputLag.merge(other.inputLag) { max($0, $1) }
    counters = counters.adding(other.counters)
    input.merge(other.input) {
      TakenInput.Amount(records: $0.records + $1.records, bytes: $0.bytes + $1.bytes)
    }
    delays.add(other.delays)
    flushes.add(other.flushes)
    transactions.merge(other.transactions, uniquingKeysWith: +)
    withdrawnInARow = max(withdrawnInARow, other.withdrawnInARow)
    lastCommit = max(lastCommit, other.lastCommit)
    ignoredFields.merge(other.ignoredFields, uniquingKeysWith: +)
    rebalances.merge(other.rebalances, uniquingKeysWith: +)
    replacements.merge(other.replacements, uniquingKeysWith: +)
    content = content.adding(other.content)
    restore.add(other.restore)
    for (kind, client) in other.clients { clients[kind, default: ClientFigures()].add(client) }
  }
}
