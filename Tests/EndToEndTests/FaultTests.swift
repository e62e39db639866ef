import FeedConfiguration
import FeedDaemon
import FeedStore
import Kafka
import KafkaTestSupport
import OperatingSystem
import Synchronization
import Testing

@testable import FeedStatus
@testable import FeedTools

/// Errors from brokers within transactions, and the daemon's recovery.
///
/// The embedded cluster keeps no committed offsets and does not hide aborted records. A restored store therefore reads
/// all input again, and the test compares the final feeds.
struct FaultTests {
  /// How the daemon recovers.
  enum Way: String, Sendable {
    /// The call is retried, by librdkafka or the daemon; nothing is rolled back.
    case again
    /// The transaction is aborted, and its input is read again.
    case withdrawn
    /// The producer is replaced, and feeds are restored.
    case recovering
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    let request: EmbeddedCluster.RequestKind
    let errors: [KafkaErrorCode]
    let way: Way

    init(_ request: EmbeddedCluster.RequestKind, _ errors: [KafkaErrorCode], _ way: Way) {
      self.request = request
      self.errors = errors
      self.way = way
    }

    var testDescription: String { "\(request) \(errors.map(\.name)): \(way)" }
  }

  @Test(arguments: [
    // The outcome is unknown, and an abort is refused if the commit succeeded.
    Fault(.endTxn, [.requestTimedOut], .withdrawn),
    Fault(.endTxn, [.coordinatorNotAvailable, .coordinatorNotAvailable], .again),
    Fault(.endTxn, [.notCoordinator], .again),
    Fault(.endTxn, [.coordinatorLoading], .again),
    Fault(.endTxn, [.transport, .transport], .again),
    Fault(.endTxn, [.concurrentTransactions], .again),
    Fault(.endTxn, [.producerFenced], .recovering),
    Fault(.endTxn, [.invalidProducerEpoch], .recovering),
    Fault(.endTxn, [.invalidTransactionState], .recovering),
    Fault(.addPartitionsToTxn, [.concurrentTransactions, .concurrentTransactions], .again),
    Fault(.addPartitionsToTxn, [.coordinatorNotAvailable], .again),
    Fault(.addPartitionsToTxn, [.transport], .again),
    Fault(.addPartitionsToTxn, [.producerFenced], .recovering),
    Fault(.addPartitionsToTxn, [.invalidProducerEpoch], .recovering),
    Fault(.addOffsetsToTxn, [.concurrentTransactions], .again),
    Fault(.addOffsetsToTxn, [.notCoordinator], .again),
    // librdkafka treats it this way. Other brokers also refuse the abort, which is fatal.
    Fault(.addOffsetsToTxn, [.producerFenced], .withdrawn),
    Fault(.txnOffsetCommit, [.illegalGeneration], .withdrawn),
    Fault(.txnOffsetCommit, [.unknownMember], .withdrawn),
    Fault(.txnOffsetCommit, [.fencedInstance], .withdrawn),
    Fault(.txnOffsetCommit, [.coordinatorNotAvailable, .notCoordinator], .again),
    // As long as a coordinator needs to move or to start.
    Fault(.txnOffsetCommit, Array(repeating: .coordinatorLoading, count: 5), .again),
    Fault(.txnOffsetCommit, [.transport], .again),
    Fault(.txnOffsetCommit, [.invalidProducerEpoch], .recovering),
    Fault(.produce, [.notLeader], .again),
    Fault(.produce, [.transport, .transport], .again),
    Fault(.produce, [.requestTimedOut], .again),
    Fault(.produce, [.notEnoughReplicas, .notEnoughReplicas], .again),
    Fault(.produce, [.notEnoughReplicasAfterAppend], .again),
    // Brokers return the next error for a record. This one would fail, and the abort would be refused as well.
    Fault(.produce, [.producerFenced], .withdrawn),
    Fault(.produce, [.invalidProducerEpoch], .recovering),
    Fault(.initProducerID, [.producerFenced], .recovering),
    Fault(.initProducerID, [.invalidProducerEpoch], .recovering),
    Fault(.initProducerID, [.concurrentTransactions, .coordinatorNotAvailable], .again),
    Fault(.initProducerID, [.notCoordinator, .transport], .again),
    Fault(.findCoordinator, [.coordinatorNotAvailable, .coordinatorNotAvailable], .again),
  ])
  func `each error is recovered from as its class requires, and the feeds are correct`(
    fault: Fault
  ) async throws {
    var ground = try Ground(isOneInput: true)
    defer { ground.cluster.stop() }
    ground.configuration.store.coalescing.maxRecords = 100
    let lines = DemoHistory.lines.prefix(400).map { $0.replacing("feeds.sections", with: "feeds.items") }
    _ = try await ground.publish(lines)
    try ground.cluster.pushRequestErrors(fault.request, fault.errors)

    let run = FaultRun(records: lines.count)
    let report = try await ground.daemon(stop: run.stop) { run.note($0) }.run()
    #expect(run.ways == (fault.way == .again ? [] : [fault.way]))
    let expected = try await ReplayedOutput(lines, ground.configuration.store)
    #expect(report.feeds == expected.feeds)
  }
}

/// Observes a daemon until it has committed all records.
final class FaultRun: Sendable {
  let stop = StopRequest()
  private let records: Int
  private let state = Mutex(State())

  private struct State {
    var ways: [FaultTests.Way] = []
    var committed = 0
    /// The committed records when reading restarted from the beginning.
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

/// Errors from brokers within a flush of several transactions.
struct LargeFlushFaultTests {
  /// A worker that has lost its partitions must learn it before any part of a flush is published. So every transaction
  /// asks the group, even without offsets to commit.
  @Test func `a group that refuses the worker refuses the first transaction of a flush`() async throws {
    var ground = try Ground(isOneInput: true)
    defer { ground.cluster.stop() }
    // One flush of three feeds, each in its own transaction.
    ground.configuration.store.coalescing.maxRecords = 3
    ground.configuration.maxTransactionBytes = 1
    let lines = ["a", "b", "c"].map { #"{"key":"\#($0)","value":{"op":"section.upsert","section":"s"}}"# }
    _ = try await ground.publish(lines)
    try ground.cluster.pushRequestErrors(.txnOffsetCommit, [.illegalGeneration])

    let running = ground
    let sent = Mutex<[String?]?>(nil)
    let run = FaultRun(records: lines.count)
    let report = try await ground.daemon(stop: run.stop) { event in
      if event == .withdrawn {
        #expect(throws: Never.self) {
          let records = try running.contents(of: "feeds.changesets", partitions: 1)
          sent.withLock { $0 = records.map(\.keyText) }
        }
      }
      run.note(event)
    }.run()
    #expect(run.ways == [.withdrawn])
    // The embedded cluster shows records of aborted transactions, but they need not have been sent.
    let keys = try #require(sent.withLock { $0 })
    #expect(keys == [] || keys == ["k0/a"])
    let expected = try await ReplayedOutput(lines, ground.configuration.store)
    #expect(report.feeds == expected.feeds && report.feeds.count == lines.count)
  }
}
