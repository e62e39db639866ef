import Kafka

/// Keeps producers and their transactions: who of one `transactional.id` may write, what a transaction has written to, and how it
/// ends.
public final class TransactionCoordinator {
  enum State: Equatable {
    case empty, ongoing
    /// The end is decided, and markers are being written.
    case ending(isCommit: Bool)
    case ended(isCommit: Bool)
  }

  final class Transaction {
    let id: String
    let producerID: Int64
    var epoch: Int16 = -1
    var state = State.empty
    var timeout: Int64
    /// When the transaction began, in microseconds.
    var start: Int64 = 0
    var partitions: Set<TopicPartition> = []
    /// Whether offsets of the group belong to it.
    var hasOffsets = false
    /// Counts transactions, so that a time limit of an earlier one does nothing.
    var number = 0

    init(_ id: String, _ producerID: Int64, timeout: Int64) {
      self.id = id
      self.producerID = producerID
      self.timeout = timeout
    }

    var producer: ProducerKey { ProducerKey(id: producerID, epoch: epoch) }
  }

  private unowned let cluster: SimulatedCluster
  private var transactions: [String: Transaction] = [:]
  private var byProducer: [Int64: Transaction] = [:]
  private var nextProducerID: Int64 = 1
  private var place = 0
  /// Until when it reads up after it has moved, in microseconds.
  private var loadingEnd: Int64 = 0
  /// How long each marker takes at most, in microseconds.
  public var markerDelay: Int64 = 2_000
  private var random = SplitMix64Stream(seed: 0, "markers")

  init(_ cluster: SimulatedCluster) { self.cluster = cluster }

  public func seed(_ seed: UInt64) { random = SplitMix64Stream(seed: seed, "markers") }

  /// The broker that it is on at this moment.
  var broker: Int? { cluster.coordinator(place) }

  /// It goes to another broker.
  public func moveAway() {
    place += 1
    move()
  }

  func move() { loadingEnd = cluster.simulator.now + 50_000 + random.below(200_000) }

  /// Why nothing can be asked of it at this moment; nil if it can.
  private func unavailability(at broker: Int) -> KafkaErrorCode? {
    if self.broker != broker { return .notCoordinator }
    return cluster.simulator.now < loadingEnd ? .coordinatorLoading : nil
  }

  // MARK: Requests

  /// Registers a producer: ends what an earlier one of its id left open, and shuts that one out.
  func initProducer(at broker: Int, _ id: String, timeout: Int64) -> Result<ProducerKey, RefusedRequest> {
    if let error = unavailability(at: broker) { return .failure(RefusedRequest(error)) }
    let transaction = transactions[id] ?? make(id, timeout)
    switch transaction.state {
    case .ending:
      return .failure(RefusedRequest(.concurrentTransactions))
    case .ongoing:
      // The one before is fenced first, and its transaction ends under the new epoch.
      transaction.epoch += 1
      end(transaction, isCommit: false)
      return .failure(RefusedRequest(.concurrentTransactions))
    case .empty, .ended:
      transaction.epoch += 1
      transaction.timeout = timeout
      transaction.state = .empty
      return .success(transaction.producer)
    }
  }

  private func make(_ id: String, _ timeout: Int64) -> Transaction {
    let transaction = Transaction(id, nextProducerID, timeout: timeout)
    nextProducerID += 1
    transactions[id] = transaction
    byProducer[transaction.producerID] = transaction
    return transaction
  }

  func add(
    at broker: Int,
    _ partition: TopicPartition,
    _ id: String,
    _ producer: ProducerKey
  ) -> KafkaErrorCode? {
    switch open(at: broker, id, producer) {
    case .success(let transaction):
      transaction.partitions.insert(partition)
      return nil
    case .failure(let refused): return refused.code
    }
  }

  func addOffsets(at broker: Int, _ id: String, _ producer: ProducerKey) -> KafkaErrorCode? {
    switch open(at: broker, id, producer) {
    case .success(let transaction):
      transaction.hasOffsets = true
      return nil
    case .failure(let refused): return refused.code
    }
  }

  private func find(
    at broker: Int,
    _ id: String,
    _ producer: ProducerKey
  ) -> Result<Transaction, RefusedRequest> {
    if let error = unavailability(at: broker) { return .failure(RefusedRequest(error)) }
    guard let transaction = transactions[id], transaction.producerID == producer.id else {
      return .failure(RefusedRequest(.invalidProducerMapping))
    }
    if transaction.epoch != producer.epoch { return .failure(RefusedRequest(.producerFenced)) }
    return .success(transaction)
  }

  private func open(
    at broker: Int,
    _ id: String,
    _ producer: ProducerKey
  ) -> Result<Transaction, RefusedRequest> {
    find(at: broker, id, producer).flatMap { transaction in
      switch transaction.state {
      case .ending: return .failure(RefusedRequest(.concurrentTransactions))
      case .ongoing: break
      case .empty, .ended: begin(transaction)
      }
      return .success(transaction)
    }
  }

  private func begin(_ transaction: Transaction) {
    transaction.state = .ongoing
    transaction.partitions = []
    transaction.hasOffsets = false
    transaction.number += 1
    transaction.start = cluster.simulator.now
    let number = transaction.number
    cluster.simulator.schedule(after: transaction.timeout) { [weak self, weak transaction] in
      guard let self, let transaction, transaction.number == number, transaction.state == .ongoing else {
        return
      }
      cluster.simulator.tell("the transaction of \(transaction.id) has timed out")
      transaction.epoch += 1
      end(transaction, isCommit: false)
    }
  }

  func end(
    at broker: Int,
    _ id: String,
    _ producer: ProducerKey,
    isCommit: Bool
  ) -> KafkaErrorCode? {
    switch find(at: broker, id, producer) {
    case .failure(let refused): return refused.code
    case .success(let transaction):
      switch transaction.state {
      case .ongoing:
        end(transaction, isCommit: isCommit)
        return nil
      case .ending(isCommit): return .concurrentTransactions
      // Asked for again, as the answer was lost.
      case .ended(isCommit): return nil
      case .empty, .ending, .ended: return .invalidTransactionState
      }
    }
  }

  /// Whether a leader may append what comes for a partition.
  func isOpen(_ partition: TopicPartition, for producer: ProducerKey) -> Bool {
    guard let transaction = byProducer[producer.id] else { return false }
    return transaction.epoch == producer.epoch && transaction.state == .ongoing
      && transaction.partitions.contains(partition)
  }

  /// Whether a group's coordinator may take offsets of a producer.
  func mayCommitOffsets(_ producer: ProducerKey) -> KafkaErrorCode? {
    guard let transaction = byProducer[producer.id] else { return .invalidProducerMapping }
    if transaction.epoch != producer.epoch { return .invalidProducerEpoch }
    return transaction.state == .ongoing && transaction.hasOffsets ? nil : .invalidTransactionState
  }

  // MARK: Ends

  /// Decides the end; the markers follow one by one.
  private func end(_ transaction: Transaction, isCommit: Bool) {
    transaction.state = .ending(isCommit: isCommit)
    let names = transaction.partitions.sorted(by: Self.isBefore).map(\.description)
    cluster.simulator.tell(
      "\(transaction.id) \(isCommit ? "commits" : "aborts") \(names.joined(separator: ", "))"
    )
    if isCommit { cluster.onCommit?(transaction.producer, transaction.partitions) }
    var markers: [() -> Void] = transaction.partitions.sorted(by: Self.isBefore).map { partition in
      { [cluster] in _ = cluster.log(partition)?.mark(transaction.producer, isCommit: isCommit) }
    }
    if transaction.hasOffsets {
      let marker = { [cluster] in cluster.group.endOffsets(of: transaction.producerID, isCommit: isCommit) }
      markers.insert(marker, at: Int(random.below(Int64(markers.count + 1))))
    }
    writeNext(markers[...], transaction, isCommit: isCommit)
  }

  private func writeNext(_ markers: ArraySlice<() -> Void>, _ transaction: Transaction, isCommit: Bool) {
    guard let first = markers.first else {
      transaction.state = .ended(isCommit: isCommit)
      return
    }
    cluster.simulator.schedule(after: 200 + random.below(markerDelay)) { [self] in
      first()
      cluster.changed(Set(transaction.partitions.map(\.topic)))
      writeNext(markers.dropFirst(), transaction, isCommit: isCommit)
    }
  }

  private static func isBefore(_ one: TopicPartition, _ other: TopicPartition) -> Bool {
    (one.topic, one.partition) < (other.topic, other.partition)
  }
}
