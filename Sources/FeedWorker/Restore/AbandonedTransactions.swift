import Diagnostics
import FeedKafka
import FeedTransactions
import Kafka

/// Ends open transactions of members that have left the group.
///
/// While a transaction with offsets of a partition is open, brokers do not report the committed offsets. A member that is
/// killed leaves its transaction open until it times out, which brokers check every ten seconds by default. Registering a
/// producer under the same id ends it at once. The metadata of the previously committed offsets contains that id, and the id
/// of the member. As long as the group has that member, or another one that uses the id after a restart, the transaction is
/// not ended.
///
/// This is safe even if the member still runs: without its membership it could not commit the transaction.
final class AbandonedTransactions {
  private let clients: any WorkerClients
  private let settings: KafkaSettings
  private let identity: WorkerIdentity
  private let log: Log
  private var probe: (any GroupProbe)?
  private let own: String
  /// The ids under which a producer was registered.
  private var ended: Set<String> = []

  init(_ clients: any WorkerClients, _ settings: KafkaSettings, _ identity: WorkerIdentity, _ log: Log) {
    self.clients = clients
    self.settings = settings
    self.identity = identity
    own = settings.transactionalID(of: identity)
    self.log = log
  }

  /// Ends one of the transactions that may delay the committed offsets of partitions.
  ///
  /// - Parameters:
  ///   - all: all partitions of the input.
  ///   - member: this worker's id in the group.
  ///   - timeoutMilliseconds: the timeout of each of three requests.
  func end(
    of partitions: [TopicPartition],
    among all: [TopicPartition],
    for member: String,
    timeoutMilliseconds: Int32
  ) {
    do throws(KafkaError) {
      if probe == nil { probe = try clients.makeProbe(settings, log: log) }
      guard let probe else { return }
      let committed = try probe.committed(all, timeoutMilliseconds: timeoutMilliseconds)
      let allAuthors = committed.compactMapValues { CommitMetadata($0.metadata).author }
      let authors = Set(partitions.compactMap { allAuthors[$0] })
        .filter { $0.member != member && $0.producer != own && !ended.contains($0.producer) }
      if authors.isEmpty { return }
      let members = try probe.memberIDs(timeoutMilliseconds: timeoutMilliseconds)
      // A list without this member is outdated.
      guard members.contains(member) else { return }
      // One at a time, because other partitions are served meanwhile.
      let used = Set(allAuthors.values.lazy.filter { members.contains($0.member) }.map(\.producer))
      let gone = authors.filter { !members.contains($0.member) && !used.contains($0.producer) }
      if let first = gone.min(by: { $0.producer < $1.producer }) { try end(first, timeoutMilliseconds) }
    } catch {
      // These transactions will time out.
      log.write(
        .restoreTransactionLeftOpen,
        "could not end a transaction that may hold up the restoration",
        ["error": error]
      )
    }
  }

  private func end(_ author: CommitMetadata.Author, _ timeoutMilliseconds: Int32) throws(KafkaError) {
    var configuration = settings.transactionalProducer(identity, slowInARow: 0)
    configuration["transactional.id"] = author.producer
    let producer = try clients.makeProducer(configuration, reportsEnds: true, log: log)
    // The transaction has ended by then, even if closing takes longer.
    defer { try? producer.close(timeoutMilliseconds: timeoutMilliseconds) }
    try producer.initTransactions(timeoutMilliseconds: timeoutMilliseconds)
    ended.insert(author.producer)
    log.write(
      .restoreTransactionEnded,
      "ended a transaction that a former member may have left open",
      ["member": author.member, "producer": author.producer]
    )
  }

  /// Closes the client when nothing is being restored.
  func forget() {
    ended = []
    try? probe?.close(timeoutMilliseconds: 1_000)
    probe = nil
  }
}
