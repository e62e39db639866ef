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
    /// Whether offsets of a group belong to it.
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

  /// Refuses a request if nothing can be asked of it at this moment.
  private func checkAvailable(at broker: Int) throws(RefusedRequest) {
    if self.broker != broker { throw RefusedRequest(.notCoordinator) }
    if cluster.simulator.now < loadingEnd { throw RefusedRequest(.coordinatorLoading) }
  }

  // MARK: Requests

  /// Registers a producer: ends what an earlier one of its id left open, and shuts that one out.
  func initProducer(at broker: Int, _ id: String, timeout: Int64) throws(RefusedRequest) -> ProducerKey {
    try checkAvailable(at: broker)
    let transaction = transactions[id] ?? make(id, timeout)
    switch transaction.state {
    case .ending: throw RefusedRequest(.concurrentTransactions)
    case .ongoing:
      // The one before is fenced first, and its transaction ends under the new epoch.
      transaction.epoch += 1
      end(transaction, isCommit: false)
      throw RefusedRequest(.concurrentTransactions)
    case .empty, .ended:
      transaction.epoch += 1
      transaction.timeout = timeout
      transaction.state = .empty
      return transaction.producer
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
  ) throws(RefusedRequest) {
    try open(at: broker, id, producer).partitions.insert(partition)
  }

  func addOffsets(at broker: Int, _ id: String, _ producer: ProducerKey) throws(RefusedRequest) {
    try open(at: broker, id, producer).hasOffsets = true
  }

  private func find(
    at broker: Int,
    _ id: String,
    _ producer: ProducerKey
  ) throws(RefusedRequest) -> Transaction {
    try checkAvailable(at: broker)
    guard let transaction = transactions[id], transaction.producerID == producer.id else {
      throw RefusedRequest(.invalidProducerMapping)
    }
    if transaction.epoch != producer.epoch { throw RefusedRequest(.producerFenced) }
    return transaction
  }

  private func open(
    at broker: Int,
    _ id: String,
    _ producer: ProducerKey
  ) throws(RefusedRequest) -> Transaction {
    let transaction = try find(at: broker, id, producer)
    switch transaction.state {
    case .ending: throw RefusedRequest(.concurrentTransactions)
    case .ongoing: break
    case .empty, .ended: begin(transaction)
    }
    return transaction
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
  ) throws(RefusedRequest) {
    let transaction = try find(at: broker, id, producer)
    switch transaction.state {
    case .ongoing: end(transaction, isCommit: isCommit)
    case .ending(isCommit): throw RefusedRequest(.concurrentTransactions)
    // Asked for again, as the answer was lost.
    case .ended(isCommit): break
    case .empty, .ending, .ended: throw RefusedRequest(.invalidTransactionState)
    }
  }

  /// Refuses records that a leader must not append, as brokers since Kafka 3.7 do.
  func checkMayWrite(to partition: TopicPartition, _ producer: ProducerKey) throws(RefusedRequest) {
    guard let transaction = byProducer[producer.id] else { throw RefusedRequest(.invalidProducerMapping) }
    if transaction.epoch != producer.epoch { throw RefusedRequest(.invalidProducerEpoch) }
    guard transaction.state == .ongoing, transaction.partitions.contains(partition) else {
      throw RefusedRequest(.invalidTransactionState)
    }
  }

  /// Refuses offsets that the group's coordinator must not take from a producer.
  func checkMayCommitOffsets(_ producer: ProducerKey) throws(RefusedRequest) {
    guard let transaction = byProducer[producer.id] else { throw RefusedRequest(.invalidProducerMapping) }
    if transaction.epoch != producer.epoch { throw RefusedRequest(.invalidProducerEpoch) }
    guard transaction.state == .ongoing, transaction.hasOffsets else {
      throw RefusedRequest(.invalidTransactionState)
    }
  }

  // MARK: Ends

  /// Decides the end; the markers follow one by one.
  private func end(_ transaction: Transaction, isCommit: Bool) {
    transaction.state = .ending(isCommit: isCommit)
    let names = transaction.partitions.sorted(by: Self.isBefore).map(\.description)
    cluster.simulator.tell(
      "\(transaction.id) \(isCommit ? "commits" : "aborts") \(names.joined(separator: ", "))"
    )
    if isCommit {
      // A request that comes twice may add a partition that nothing is written to.
      let written = transaction.partitions.filter {
        cluster.log($0)?.isWritten(by: transaction.producer) == true
      }
      cluster.onCommit?(transaction.producer, written)
    }
    var markers: [() -> Void] = transaction.partitions.sorted(by: Self.isBefore).map { partition in
      { [cluster] in _ = cluster.log(partition)?.mark(transaction.producer, isCommit: isCommit) }
    }
    if transaction.hasOffsets {
      let marker = { [cluster] in cluster.endOffsets(of: transaction.producerID, isCommit: isCommit) }
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
