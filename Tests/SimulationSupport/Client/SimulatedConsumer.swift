@testable public import Kafka

/// A consumer, as the program that uses librdkafka sees it: it fetches ahead in the background, and hands out what it has.
public final class SimulatedConsumer: SimulatedClient {
  /// Where a partition is read.
  final class Position {
    let partition: TopicPartition
    /// What is fetched next.
    var next: Int64
    var isPaused: Bool
    /// What was fetched before it was sought has another number.
    var version = 0
    /// The high watermark, as the last answer named it.
    var knownEnd: Int64?
    /// The end that was told last.
    var toldEnd: Int64?

    init(_ partition: TopicPartition, _ next: Int64, isPaused: Bool) {
      self.partition = partition
      self.next = next
      self.isPaused = isPaused
    }
  }

  private enum Fetched {
    case record(Position, version: Int, offset: Int64, SimulatedRecord)
    case end(Position, version: Int, offset: Int64)
  }

  let options: ConsumerOptions
  private(set) var positions: [Position] = []
  private var fetched: [Fetched] = []
  private var errors: [KafkaError] = []
  /// A rebalance is told of, or being dealt with: nothing is handed out of any partition.
  private(set) var rebalance: Rebalance?
  private var isRebalanceTold = false
  let news: Signal
  let work: Signal
  var membership: GroupMembership
  /// The topics whose records were handed out, by their index.
  private var topicNames: [String] = []
  /// What each batch points to, until it is filled again.
  private var blocks: [ObjectIdentifier: [UnsafeMutableRawBufferPointer]] = [:]

  private static let queueRecords = 200
  private static let fetchRecords = 40
  private static let fetchTimeout: Int64 = 2_000_000

  public init(_ network: SimulatedNetwork, _ process: SimulatedProcess, _ options: ConsumerOptions) {
    self.options = options
    membership = GroupMembership(secondJoin: SecondJoin(isStatic: options.instanceID != nil))
    news = Signal(network.simulator)
    work = Signal(network.simulator)
    super.init(network, process, options.hasGroup ? "member" : "reader")
    cluster.watch(self)
    simulator.spawn(process) { [self] in fetch() }
  }

  func error(_ code: KafkaErrorCode, _ action: String, fatal: Bool = false) -> KafkaError {
    KafkaError(
      kind: code,
      message: "\(action): \(code)",
      isRetriable: !fatal && code.passes,
      isFatal: fatal,
      requiresAbort: false
    )
  }

  private func check(_ action: String) throws(KafkaError) {
    spend()
    if isGone { throw error(.closed, action, fatal: true) }
  }

  func position(of partition: TopicPartition) -> Position? { positions.first { $0.partition == partition } }

  // MARK: Polling

  public func makeBatch(capacity: Int) -> MessageBatch {
    MessageBatch(capacity: capacity, owner: ObjectIdentifier(self))
  }

  public func fill(_ batch: MessageBatch, timeoutMilliseconds: Int32) throws(KafkaError) {
    batch.recycle()
    let polled = try poll(most: batch.capacity, milliseconds: timeoutMilliseconds)
    let outdated = blocks.updateValue([], forKey: ObjectIdentifier(batch)) ?? []
    for block in outdated { block.deallocate() }
    func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
      let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
      block.copyBytes(from: bytes)
      blocks[ObjectIdentifier(batch), default: []].append(block)
      return UnsafeRawBufferPointer(block)
    }
    batch.stored = polled.records.map { partition, offset, record in
      Message(
        topicIndex: topicIndex(of: partition.topic),
        partition: partition.partition,
        offset: offset,
        timestampMilliseconds: record.timestamp,
        key: record.key.map(copy),
        payload: record.value.map(copy),
        pointer: nil
      )
    }
    batch.events = polled.events.map { event in
      switch event {
      case .end(let partition, let offset):
        .endOfPartition(
          topic: topicIndex(of: partition.topic),
          partition: partition.partition,
          offset: offset
        )
      case .error(let error): .error(error)
      }
    }
    batch.rebalance = polled.rebalance
  }

  deinit {
    for block in blocks.values.joined() { block.deallocate() }
  }

  /// Hands out what there is, or waits for the first.
  public func poll(most: Int, milliseconds: Int32) throws(KafkaError) -> PolledRecords {
    try check("poll")
    membership.lastPoll = simulator.now
    let deadline = simulator.now + Int64(milliseconds) * 1_000
    var polled = take(most)
    while polled.isEmpty, simulator.now < deadline, !isGone {
      simulator.wait(for: news, until: deadline)
      polled = take(most)
    }
    membership.lastPoll = simulator.now
    if isGone { throw error(.closed, "poll", fatal: true) }
    return polled
  }

  private func take(_ most: Int) -> PolledRecords {
    var polled = PolledRecords()
    if !errors.isEmpty {
      polled.events = errors.map { .error($0) }
      errors = []
    }
    if let rebalance {
      if isRebalanceTold { return polled }
      isRebalanceTold = true
      polled.rebalance = rebalance
      return polled
    }
    var count = 0
    while count < fetched.count, polled.records.count < most {
      let item = fetched[count]
      count += 1
      switch item {
      case .record(let position, let version, let offset, let record):
        guard version == position.version else { continue }
        polled.records.append((position.partition, offset, record))
      case .end(let position, let version, let offset):
        guard version == position.version else { continue }
        polled.events.append(.end(position.partition, offset: offset))
      }
    }
    fetched.removeFirst(count)
    if count > 0 { work.notify() }
    if let first = polled.records.first, let last = polled.records.last {
      simulator.tell(
        "\(name): \(first.partition) @ \(first.offset) to \(last.partition) @ \(last.offset), \(polled.records.count) records"
      )
    }
    return polled
  }

  func tell(_ error: KafkaError) {
    errors.append(error)
    news.notify()
  }

  // MARK: Assignments

  /// Reads these partitions as well.
  public func add(_ offsets: [TopicPartitionOffset]) throws(KafkaError) {
    try check("assign")
    for offset in offsets {
      positions.append(Position(offset.topicPartition, offset.offset, isPaused: false))
    }
    sortPositions()
    work.notify()
  }

  /// Reads these partitions no more.
  public func remove(_ partitions: [TopicPartition]) throws(KafkaError) {
    try check("unassign")
    drop(partitions)
  }

  private func sortPositions() {
    positions.sort {
      ($0.partition.topic, $0.partition.partition) < ($1.partition.topic, $1.partition.partition)
    }
  }

  private func drop(_ partitions: some Sequence<TopicPartition>) {
    for partition in partitions { position(of: partition)?.version += 1 }
    positions.removeAll { partitions.contains($0.partition) }
  }

  public var pausedPartitions: Set<TopicPartition> {
    Set(positions.lazy.filter(\.isPaused).map(\.partition))
  }

  public func pause(_ partitions: some Sequence<TopicPartition>) throws(KafkaError) {
    try check("pause")
    for partition in partitions where position(of: partition) == nil {
      throw error(.unknownPartition, "pause \(partition)")
    }
    for partition in partitions {
      guard let position = position(of: partition), !position.isPaused else { continue }
      position.isPaused = true
      position.next = discardFetched(position) ?? position.next
    }
  }

  public func resume(_ partitions: some Sequence<TopicPartition>) throws(KafkaError) {
    try check("resume")
    for partition in partitions { position(of: partition)?.isPaused = false }
    work.notify()
  }

  public func seek(_ offsets: [TopicPartitionOffset], timeoutMilliseconds: Int32) throws(KafkaError) {
    try check("seek")
    if cluster.seekFailures > 0, !offsets.isEmpty {
      cluster.seekFailures -= 1
      spend(Int64(timeoutMilliseconds) * 1_000)
      throw error(.timedOut, "seek")
    }
    for offset in offsets {
      guard let position = position(of: offset.topicPartition) else {
        throw error(.unknownPartition, "seek \(offset)")
      }
      _ = discardFetched(position)
      position.next = offset.offset
      position.toldEnd = nil
    }
    work.notify()
  }

  /// Drops what was fetched of a partition.
  ///
  /// - Returns: the offset of the first record that was dropped; nil if there was none.
  private func discardFetched(_ position: Position) -> Int64? {
    var first: Int64?
    for case .record(let other, let version, let offset, _) in fetched
    where other === position && version == position.version {
      first = min(first ?? offset, offset)
    }
    position.version += 1
    position.toldEnd = nil
    return first
  }

  public func knownEnd(of partition: TopicPartition) -> Int64? { position(of: partition)?.knownEnd }

  public var fetchedCount: Int { fetched.count }

  // MARK: Rebalances

  /// Tells the owner of a rebalance. Partitions that stay are read on after it from where the owner seeks to; what was fetched
  /// of them may be gone.
  func present(_ rebalance: Rebalance) {
    simulator.tell("\(name): \(rebalance.kind) \(rebalance.partitions)")
    for position in positions {
      let first = discardFetched(position)
      if let first, chance(50) { position.next = first }
    }
    self.rebalance = rebalance
    isRebalanceTold = false
    news.notify()
  }

  /// Does what a rebalance is about.
  public func complete(_ completed: Rebalance) throws(KafkaError) {
    try check("complete a rebalance")
    precondition(completed == rebalance, "\(completed) is completed already, or was not told of")
    apply(completed)
  }

  private func apply(_ completed: Rebalance) {
    rebalance = nil
    switch completed.kind {
    case .assigned:
      for partition in completed.partitions {
        positions.append(Position(partition, 0, isPaused: options.pausesAssigned))
      }
      sortPositions()
    case .revoking, .lost: drop(completed.partitions)
    }
    membership.changed?.notify()
    work.notify()
  }

  // MARK: Questions

  private func question<Answer>(
    _ action: String,
    _ kind: RequestKind,
    _ place: Place,
    _ timeoutMilliseconds: Int32,
    _ handle: @escaping (Int) throws(RefusedRequest) -> Answer
  ) throws(KafkaError) -> Answer {
    try check(action)
    let deadline = simulator.now + Int64(timeoutMilliseconds) * 1_000
    do throws(RefusedRequest) {
      return try ask(kind, place, until: deadline, handle)
    } catch {
      throw self.error(error.code, action, fatal: error.code == .closed)
    }
  }

  public func committed(
    _ partitions: [TopicPartition],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
    let isStable = options.isolation == .readCommitted
    return try question("committed", .fetchOffsets, place, timeoutMilliseconds) {
      [group] broker throws(RefusedRequest) in
      try group.committed(at: broker, partitions, isStable: isStable)
    }
  }

  /// The ids of the group's members.
  public func memberIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<String> {
    try question("members", .describeGroup, place, timeoutMilliseconds) {
      [group] broker throws(RefusedRequest) in
      try group.memberIDs(at: broker)
    }
  }

  public func queryWatermarks(
    _ partition: TopicPartition,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks {
    let isolation = options.isolation
    return try question("watermarks", .listOffsets, .leader(partition), timeoutMilliseconds) {
      [cluster, process] broker throws(RefusedRequest) in
      guard cluster.leader(of: partition) == broker, let log = cluster.log(partition) else {
        throw RefusedRequest(.notLeader)
      }
      return cluster.ends(of: log, isolation, for: process)
    }
  }

  public func metadata(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata {
    try check("metadata")
    let broker = broker(of: .leader(TopicPartition(topic: topics[0], partition: 0)))
    if isGone { throw error(.closed, "metadata", fatal: true) }
    guard broker != nil else { throw error(.timedOut, "metadata") }
    return cluster.metadata(topics)
  }

  /// The index of a topic in this consumer's records.
  public func topicIndex(of topic: String) -> Int {
    if let index = topicNames.firstIndex(of: topic) { return index }
    topicNames.append(topic)
    return topicNames.count - 1
  }

  public func topicName(at index: Int) -> String { topicNames[index] }

  /// Leaves the group and gives everything up.
  public func close(timeoutMilliseconds: Int32) {
    guard !isClosed else { return }
    if process.isAlive, options.hasGroup { leaveGroup(milliseconds: timeoutMilliseconds) }
    isClosed = true
    cluster.unwatch(self)
    positions = []
    rebalance = nil
    news.notify()
    work.notify()
    membership.changed?.notify()
  }

  // MARK: Fetching

  func reads(_ topic: String) -> Bool { positions.contains { $0.partition.topic == topic } }

  private func fetch() {
    while !isGone {
      let wanted = positions.filter(isWanted)
      guard rebalance == nil, fetched.count < Self.queueRecords, !wanted.isEmpty else {
        simulator.wait(for: work, until: simulator.now + 1_000_000)
        continue
      }
      var byLeader: [(broker: Int, positions: [Position])] = []
      for position in wanted {
        guard let broker = broker(of: .leader(position.partition)) else { continue }
        if let index = byLeader.firstIndex(where: { $0.broker == broker }) {
          byLeader[index].positions.append(position)
        } else {
          byLeader.append((broker, [position]))
        }
      }
      if byLeader.isEmpty { simulator.sleep(50_000) }
      for (broker, positions) in byLeader { fetch(positions, from: broker) }
    }
  }

  /// Whether a broker would have something to say of it.
  private func isWanted(_ position: Position) -> Bool {
    guard !position.isPaused, let log = cluster.log(position.partition) else { return false }
    let end = cluster.readableEnd(of: log, options.isolation, for: process)
    return position.next < end || position.toldEnd != end || position.knownEnd != log.high
  }

  private struct Answer {
    var refusal: KafkaErrorCode?
    var records: [(offset: Int64, record: SimulatedRecord)] = []
    var next: Int64 = 0
    var end: Int64 = 0
    var high: Int64 = 0
    var low: Int64 = 0
  }

  private func fetch(_ positions: [Position], from broker: Int) {
    // Others may have been given up while another broker was asked.
    let positions = positions.filter { position in
      rebalance == nil && self.positions.contains { $0 === position }
    }
    if positions.isEmpty { return }
    let asked = positions.map { (position: $0, version: $0.version, next: $0.next) }
    let isolation = options.isolation
    let answer: Result<[Answer], RefusedRequest> = network.call(
      .fetch,
      from: self,
      to: broker,
      timeout: Self.fetchTimeout
    ) { [cluster, process] reply in
      reply(
        .success(
          asked.map { position, _, next in
            var answer = Answer()
            guard let log = cluster.log(position.partition), cluster.leader(of: position.partition) == broker
            else {
              answer.refusal = .notLeader
              return answer
            }
            answer.low = log.low
            answer.high = log.high
            answer.end = cluster.readableEnd(of: log, isolation, for: process)
            if next < log.low || next > log.high {
              answer.refusal = .offsetOutOfRange
              return answer
            }
            (answer.records, answer.next) = log.read(
              from: next,
              below: answer.end,
              isolation,
              most: Self.fetchRecords
            )
            return answer
          }
        )
      )
    }
    if isGone { return }
    switch answer {
    case .failure(let refused):
      for position in positions { forget(.leader(position.partition)) }
      if !refused.passes { tell(error(refused.code, "fetch")) }
      simulator.sleep(20_000)
    case .success(let answers):
      for ((position, version, _), answer) in zip(asked, answers) where version == position.version {
        take(answer, position)
      }
      if !fetched.isEmpty { news.notify() }
    }
  }

  private func take(_ answer: Answer, _ position: Position) {
    // While a rebalance is told of, nothing is taken: what comes is fetched again.
    if rebalance != nil || position.isPaused { return }
    switch answer.refusal {
    case .notLeader?:
      forget(.leader(position.partition))
      simulator.sleep(20_000)
    case .offsetOutOfRange?:
      if options.failsOutOfRange {
        tell(error(.autoOffsetReset, "fetch \(position.partition)"))
        position.isPaused = true
      } else {
        position.next = answer.low
      }
    case .some(let code): tell(error(code, "fetch \(position.partition)"))
    case nil:
      position.knownEnd = answer.high
      for (offset, record) in answer.records {
        fetched.append(.record(position, version: position.version, offset: offset, record))
      }
      position.next = answer.next
      if answer.next >= answer.end, position.toldEnd != answer.end {
        position.toldEnd = answer.end
        fetched.append(.end(position, version: position.version, offset: answer.next))
      }
    }
  }
}

extension PolledRecords {
  var isEmpty: Bool { records.isEmpty && events.isEmpty && rebalance == nil }
}

extension KafkaErrorCode {
  /// Whether an error of this code passes by itself.
  var passes: Bool { RefusedRequest(self).passes }
}

/// What a consumer is made with.
public struct ConsumerOptions {
  public var isolation = IsolationLevel.readCommitted
  public static let defaultGroup = "simulation"
  public var group = Self.defaultGroup
  /// Whether it is a member; else it only asks about the group.
  public var hasGroup = false
  /// Names the member for good; nil for one that is new each time.
  public var instanceID: String?
  /// In milliseconds.
  public var sessionTimeout: Int64 = 10_000
  public var maxPollInterval: Int64 = 300_000
  /// Whether an offset that is out of range is an error, and not another beginning.
  public var failsOutOfRange = false
  /// Whether partitions are paused when they are assigned.
  public var pausesAssigned = false

  public init() {}
}

/// What one poll brings.
public struct PolledRecords {
  public enum Event: Equatable {
    case end(TopicPartition, offset: Int64)
    case error(KafkaError)
  }

  public var records: [(partition: TopicPartition, offset: Int64, record: SimulatedRecord)] = []
  public var events: [Event] = []
  public var rebalance: Rebalance?

  public init() {}
}
