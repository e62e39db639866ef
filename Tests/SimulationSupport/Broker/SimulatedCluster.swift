@testable public import Kafka

/// Brokers with topics, a coordinator of transactions and one of each group: what they decide, and when they are not there.
///
/// It answers as Apache Kafka 3.9 does. Nothing is replicated, as nothing that was acknowledged is ever lost.
public final class SimulatedCluster {
  public let simulator: Simulator
  public let brokers: [SimulatedBroker]
  public private(set) var topics: [String: [PartitionLog]] = [:]
  public private(set) var transactions: TransactionCoordinator! = nil
  private var groups: [GroupCoordinator] = []
  /// Clients that are told when something can be read that could not before.
  private var readers: [SimulatedConsumer] = []
  private var foreignProducers: Int64 = 0
  /// How many of the next seeks fail.
  public var seekFailures = 0
  /// Told who commits, and what the transaction has written to, before any marker is written.
  public var onCommit: ((ProducerKey, Set<TopicPartition>) -> Void)?
  /// Told of offsets that are committed for a group.
  public var onOffsets: ((GroupCoordinator, [TopicPartition: CommittedOffset]) -> Void)?
  /// Who leads a partition, where that is not the broker whose turn it is.
  private var leaders: [TopicPartition: Int] = [:]
  /// Brokers that still answer for partitions that others lead, with what they had then, and until when.
  private var stale: [TopicPartition: (low: Int64, high: Int64, end: Int64)] = [:]
  /// Whether a process asks the new leader while a former one still answers others.
  public var knowsLeader: (TopicPartition, SimulatedProcess) -> Bool = { _, _ in false }

  public init(_ simulator: Simulator, brokers count: Int) {
    self.simulator = simulator
    brokers = (0..<count).map(SimulatedBroker.init)
    transactions = TransactionCoordinator(self)
  }

  /// The coordinator of a group; each is on another broker at first.
  public func group(_ name: String = ConsumerOptions.defaultGroup) -> GroupCoordinator {
    if let known = groups.first(where: { $0.name == name }) { return known }
    groups.append(GroupCoordinator(self, name, place: groups.count + 1))
    return groups[groups.count - 1]
  }

  /// A transaction has ended.
  func endOffsets(of producer: Int64, isCommit: Bool) {
    for group in groups { group.endOffsets(of: producer, isCommit: isCommit) }
  }

  public func createTopic(_ name: String, partitions: Int32) {
    topics[name] = (0..<partitions).map { PartitionLog(TopicPartition(topic: name, partition: $0)) }
  }

  /// Adds a partition to a topic.
  public func grow(_ topic: String) {
    let number = Int32(topics[topic]?.count ?? 0)
    topics[topic, default: []].append(PartitionLog(TopicPartition(topic: topic, partition: number)))
  }

  public func metadata(_ names: [String]) -> TopicMetadata {
    var metadata = TopicMetadata()
    for name in names {
      if let logs = topics[name] {
        metadata.partitionCounts[name] = Int32(logs.count)
      } else {
        metadata.missing.append(name)
      }
    }
    return metadata
  }

  public func log(_ partition: TopicPartition) -> PartitionLog? {
    guard let logs = topics[partition.topic], logs.indices.contains(Int(partition.partition)) else {
      return nil
    }
    return logs[Int(partition.partition)]
  }

  /// Appends input, as a producer without transactions does that always gets through.
  public func append(_ record: SimulatedRecord, to partition: TopicPartition) {
    log(partition)?.append([record])
    changed([partition.topic])
  }

  /// Lets go of clients that were not closed.
  public func end() {
    readers = []
    topics = [:]
    for broker in brokers { broker.calls = [] }
  }

  /// Appends input, as a producer does that commits or aborts it later, in a transaction of its own.
  public func append(
    _ record: SimulatedRecord,
    to partition: TopicPartition,
    isCommitted: Bool,
    after microseconds: Int64
  ) {
    guard let log = log(partition) else { return }
    foreignProducers += 1
    let producer = ProducerKey(id: 1_000_000 + foreignProducers, epoch: 0)
    _ = try? log.append([record], producer, sequence: 0)
    changed([partition.topic])
    simulator.schedule(after: microseconds) { [self] in
      log.mark(producer, isCommit: isCommitted)
      changed([partition.topic])
    }
  }

  func watch(_ reader: SimulatedConsumer) { readers.append(reader) }

  func unwatch(_ reader: SimulatedConsumer) { readers.removeAll { $0 === reader } }

  /// Something can be read of these topics that could not before.
  func changed(_ topics: Set<String>) {
    for reader in readers where topics.contains(where: reader.reads) { reader.work.notify() }
  }

  // MARK: Who is there

  /// A broker that is up takes the place of one that is down; nil if none is.
  private func living(_ number: Int) -> Int? {
    for step in 0..<brokers.count {
      let broker = (number + step) % brokers.count
      if brokers[broker].isUp { return broker }
    }
    return nil
  }

  /// Who leads a partition at this moment.
  public func leader(of partition: TopicPartition) -> Int? {
    living(leaders[partition] ?? (Int(partition.partition) + partition.topic.utf8.count) % brokers.count)
  }

  /// Gives the lead of a partition to another broker. The one before answers questions for a while as if nothing had happened.
  public func moveLeader(of partition: TopicPartition, staleFor microseconds: Int64) {
    guard let leader = leader(of: partition), let log = log(partition) else { return }
    leaders[partition] = (leader + 1) % brokers.count
    if microseconds > 0 { stale[partition] = (log.low, log.high, simulator.now + microseconds) }
  }

  /// Whether a former leader still answers for a partition: it has records that the new one may have cleaned away.
  public func hasFormerLeader(_ partition: TopicPartition) -> Bool {
    stale[partition].map { $0.end > simulator.now } ?? false
  }

  /// The ends as known to the broker that is asked, which may be out of date.
  func ends(of log: PartitionLog, _ isolation: IsolationLevel, for process: SimulatedProcess) -> Watermarks {
    if let old = stale[log.partition], old.end > simulator.now, !knowsLeader(log.partition, process) {
      return Watermarks(low: old.low, high: old.high)
    }
    return Watermarks(low: log.low, high: log.end(isolation))
  }

  /// Up to where the broker that is asked can be read.
  func readableEnd(of log: PartitionLog, _ isolation: IsolationLevel, for process: SimulatedProcess) -> Int64
  {
    let end = log.end(isolation)
    guard let old = stale[log.partition], old.end > simulator.now, !knowsLeader(log.partition, process) else {
      return end
    }
    return min(end, old.high)
  }

  /// Where the coordinator of a number is at this moment.
  func coordinator(_ number: Int) -> Int? { living(number) }

  /// Ends a broker. What is on its way is lost, and what it coordinated goes to another, which has to read up first.
  public func stop(broker number: Int) {
    let broker = brokers[number]
    guard broker.isUp, brokers.filter(\.isUp).count > 1 else { return }
    let moving = groups.filter { $0.broker == number }
    let transactionBroker = transactions.broker
    broker.isUp = false
    broker.start += 1
    for call in broker.calls { call.lose() }
    broker.calls = []
    for group in moving { group.move() }
    if transactionBroker == number { transactions.move() }
  }

  public func start(broker number: Int) {
    let (before, transactionBroker) = (groups.map(\.broker), transactions.broker)
    brokers[number].isUp = true
    for (group, broker) in zip(groups, before) where group.broker != broker { group.move() }
    if transactionBroker != transactions.broker { transactions.move() }
  }
}

/// A broker: up or down, with what is on its way to it.
public final class SimulatedBroker {
  public let number: Int
  public internal(set) var isUp = true
  /// How often it has started: what was sent to an earlier start is lost.
  public internal(set) var start = 0
  var calls: [any PendingCall] = []

  init(_ number: Int) { self.number = number }
}

/// A call that is on its way, in either direction.
protocol PendingCall: AnyObject {
  func lose()
}
