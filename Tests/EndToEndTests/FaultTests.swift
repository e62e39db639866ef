import FeedConfiguration
import FeedDaemon
import FeedPipeline
import FeedStore
import Kafka
import Service
import Testing

@testable import FeedTools

/// What brokers answer in the middle of transactions, and what the daemon makes of it.
///
/// The embedded cluster keeps no committed offsets and hides no aborted records; so a store that is restored
/// reads all input again, and it is the feeds at the end that are looked at.
struct FaultTests {
  /// How the daemon gets over a fault.
  enum Way: String, Sendable {
    /// The call is made again, by librdkafka or the daemon: nothing is withdrawn.
    case again
    /// The transaction is aborted, and its input read again.
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
    // Not known to have failed, but an abort is refused if it has not.
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
    // So librdkafka has it; other brokers refuse the abort as well, which is fatal.
    Fault(.addOffsetsToTxn, [.producerFenced], .withdrawn),
    Fault(.txnOffsetCommit, [.illegalGeneration], .withdrawn),
    Fault(.txnOffsetCommit, [.unknownMember], .withdrawn),
    Fault(.txnOffsetCommit, [.fencedInstance], .withdrawn),
    Fault(.txnOffsetCommit, [.coordinatorNotAvailable, .notCoordinator], .again),
    // As long as a coordinator takes to move or to start.
    Fault(.txnOffsetCommit, Array(repeating: .coordinatorLoading, count: 5), .again),
    Fault(.txnOffsetCommit, [.transport], .again),
    Fault(.txnOffsetCommit, [.invalidProducerEpoch], .recovering),
    Fault(.produce, [.notLeader], .again),
    Fault(.produce, [.transport, .transport], .again),
    Fault(.produce, [.requestTimedOut], .again),
    Fault(.produce, [.notEnoughReplicas, .notEnoughReplicas], .again),
    Fault(.produce, [.notEnoughReplicasAfterAppend], .again),
    // Brokers say the next of a record; this would be one that fails, and the abort would be refused as well.
    Fault(.produce, [.producerFenced], .withdrawn),
    Fault(.produce, [.invalidProducerEpoch], .recovering),
    Fault(.initProducerID, [.producerFenced], .recovering),
    Fault(.initProducerID, [.invalidProducerEpoch], .recovering),
    Fault(.initProducerID, [.concurrentTransactions, .coordinatorNotAvailable], .again),
    Fault(.initProducerID, [.notCoordinator, .transport], .again),
    Fault(.findCoordinator, [.coordinatorNotAvailable, .coordinatorNotAvailable], .again),
  ])
  func `an error ends in its class, and the feeds are what they would be without`(
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
