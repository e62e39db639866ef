import FeedKafka
import Kafka
import Service

/// Ends transactions that a member has left open which the group does not have any more.
///
/// While a transaction is open that has offsets of a partition, brokers do not tell which ones are committed. A member that is
/// killed in a transaction leaves it open until its timeout, which brokers check every ten seconds by default. A producer that is registered
/// under the same id ends it at once. The offsets that were committed before have the id, and the author's id as a member. As long as the
/// group has that member, or another one that uses the same id after a restart, the transaction is left alone.
///
/// Nothing is lost if that member still runs: without its membership it could not commit the transaction.
final class AbandonedTransactions {
  private let clients: any WorkerClients
  private let settings: KafkaSettings
  private let identity: WorkerIdentity
  private let log: Log
  private var witness: (any GroupWitness)?
  private let own: String
  /// Producers under these ids were registered.
  private var ended: Set<String> = []

  init(_ clients: any WorkerClients, _ settings: KafkaSettings, _ identity: WorkerIdentity, _ log: Log) {
    self.clients = clients
    self.settings = settings
    self.identity = identity
    own = settings.transactionalID(of: identity)
    self.log = log
  }

  /// Ends those that may hold up the committed offsets of partitions, as far as there is time.
  ///
  /// - Parameters:
  ///   - all: all partitions of the input.
  ///   - member: this worker's id in the group.
  ///   - timeoutMilliseconds: for each of three requests.
  func end(
    of partitions: [TopicPartition],
    among all: [TopicPartition],
    for member: String,
    timeoutMilliseconds: Int32
  ) {
    do throws(KafkaError) {
      let witness = try openWitness()
      let committed = try witness.committed(all, timeoutMilliseconds: timeoutMilliseconds)
      let allAuthors = committed.compactMapValues { CommitMetadata($0.metadata).author }
      let authors = Set(partitions.compactMap { allAuthors[$0] })
        .filter { $0.member != member && $0.producer != own && !ended.contains($0.producer) }
      if authors.isEmpty { return }
      let members = try witness.memberIDs(timeoutMilliseconds: timeoutMilliseconds)
      // A list without this member is not the group's as it is now.
      guard members.contains(member) else { return }
      // One at a time, as others are served meanwhile.
      let used = Set(allAuthors.values.lazy.filter { members.contains($0.member) }.map(\.producer))
      let gone = authors.filter { !members.contains($0.member) && !used.contains($0.producer) }
      if let first = gone.min(by: { $0.producer < $1.producer }) { try end(first, timeoutMilliseconds) }
    } catch {
      // They end by themselves, later.
      log.write(
        .restoreTransactionLeftOpen,
        "could not end a transaction that may hold up the restoration",
        ["error": error]
      )
    }
  }

  private func openWitness() throws(KafkaError) -> any GroupWitness {
    if let witness { return witness }
    let opened = try clients.makeWitness(settings, log: log)
    witness = opened
    return opened
  }

  private func end(_ author: CommitMetadata.Author, _ timeoutMilliseconds: Int32) throws(KafkaError) {
    var configuration = settings.transactionalProducer(identity, slowInARow: 0)
    configuration["transactional.id"] = author.producer
    let producer = try clients.makeProducer(configuration, log: log)
    do throws(KafkaError) {
      try producer.initTransactions(timeoutMilliseconds: timeoutMilliseconds)
    } catch {
      try? producer.close(timeoutMilliseconds: timeoutMilliseconds)
      throw error
    }
    ended.insert(author.producer)
    // The transaction has ended, also if closing takes longer.
    try? producer.close(timeoutMilliseconds: timeoutMilliseconds)
    log.write(
      .restoreTransactionEnded,
      "ended what a member may have left open that the group no longer has",
      ["member": author.member, "producer": author.producer]
    )
  }

  /// Nothing is restored any more.
  func forget() {
    ended = []
    guard let witness else { return }
    self.witness = nil
    try? witness.close(timeoutMilliseconds: Self.closeMilliseconds)
  }

  private static let closeMilliseconds: Int32 = 1_000
}
