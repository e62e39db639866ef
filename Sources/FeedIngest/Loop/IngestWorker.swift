import Changesets
import Feed
package import FeedConfiguration
package import FeedKafka
import FeedStore
package import FeedWorker
import Kafka
import Service

/// Reads the sources' topics as a member of a group, and writes what their records become, with the offsets in the same transactions.
///
/// Whatever goes wrong, it goes back to what is committed: to the offsets that it knows, or after an unknown outcome and for new
/// partitions to those of the brokers. Used on one thread.
package final class IngestWorker {
  private let configuration: FeedStoreConfiguration
  private let environment: WorkerEnvironment
  private let status: WorkerStatus
  private let member: FeedWorker.GroupMember
  private let producer: IngestProducer
  private let sections = SentSections()
  /// The rows of the member's batch.
  @exclusivity(unchecked) private var rows: MappedRows?
  @exclusivity(unchecked) private var items = Murmur2Partitioner(partitionCount: 1)
  private var rejectedPartitions: Int32 = 1

  /// The partitions that the group has given it, and a rebalance that is not completed.
  private var held: Set<TopicPartition> = []
  private var rebalance: Rebalance?
  /// What is read next of each, and what is committed.
  private var positions: [TopicPartition: Int64] = [:]
  private var committed: [TopicPartition: Int64] = [:]
  /// Whether the consumer reads all partitions from there; else they are paused.
  private var isPlaced = true
  /// When the next transaction may be committed.
  private var nextCommit: Int64 = 0
  private var backlog = Backlog(maxRecords: 10_000)
  private var nextLag: Int64 = 0

  /// What was committed, and what the open transaction has beside it.
  package private(set) var report: IngestReport
  @exclusivity(unchecked) private var pending: IngestReport

  private static let idleMilliseconds: Int32 = 100
  private static let askMilliseconds: Int32 = 1_000
  private static let seekMilliseconds: Int32 = 5_000
  private static let closeMilliseconds: Int32 = 5_000
  /// Between two commits: each costs brokers some writes.
  private static let windowMilliseconds: Int64 = 100

  private var consumer: any GroupConsumer { member.consumer }
  private var log: Log { environment.log }

  package init(
    _ identity: WorkerIdentity,
    _ configuration: FeedStoreConfiguration,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment
  ) throws {
    self.configuration = configuration
    self.environment = environment
    status = environment.status.worker(identity.number)
    var consuming = settings.member(identity)
    // Input that goes while it is read would be passed over without a word.
    consuming["auto.offset.reset"] = "error"
    member = try FeedWorker.GroupMember(consuming, settings, environment, status)
    producer = try IngestProducer(settings, identity, environment)
    report = IngestReport(configuration.ingest.topics)
    pending = report
    producer.serve = { [unowned self] in try serveGroup() }
  }

  /// Works until it is asked to stop.
  package func run() throws {
    defer {
      member.close(timeoutMilliseconds: Self.closeMilliseconds)
      producer.close(timeoutMilliseconds: Self.closeMilliseconds)
    }
    guard try findTopics() else { return }
    try join()
    // A mistake in the mapping shows soon after the start.
    var (interval, next): (Int64, Int64) = (60_000, MonotonicClock.milliseconds() + 60_000)
    while !environment.stop.isRequested {
      try step()
      guard MonotonicClock.milliseconds() >= next else { continue }
      report.log(log)
      interval = min(10 * interval, 3_600_000)
      next += interval
    }
    log.write(.shutdownStopping, "stopping; committing what was mapped")
    try going { if hasNews { try commit() } }
  }

  private func join() throws(KafkaError) {
    let topics = configuration.ingest.topics
    log.write(.groupJoining, "joining the group", ["topics": topics.joined(separator: ",")])
    rows = MappedRows(member.batch, configuration.ingest, configuration.store, sections) { [unowned self] in
      try note($0, $1, of: $2)
    }
    try consumer.subscribe(topics, companions: [])
    status.update { $0.phase = .joining }
  }

  /// Waits for the brokers, and for the topics that are written to.
  ///
  /// - Returns: false if a stop was requested meanwhile.
  private func findTopics() throws -> Bool {
    let topics = configuration.store.topics
    let wait = configuration.startupTimeoutMilliseconds
    guard let metadata = try member.findTopics([topics.items, topics.rejected], waitMilliseconds: wait) else {
      return false
    }
    guard let count = metadata.partitionCounts[topics.items],
      let rejected = metadata.partitionCounts[topics.rejected]
    else {
      let names = metadata.missing.joined(separator: ", ")
      let remedy = "create them (feedstore topics --create), or set topics.* to other names"
      throw DaemonError(.missingTopic, "these topics do not exist, or may not be read: \(names); \(remedy)")
    }
    items = Murmur2Partitioner(partitionCount: count)
    rejectedPartitions = rejected
    return true
  }

  // MARK: The loop

  /// Does something that may end the transaction; then everything goes back to what is committed.
  private func going(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let ended as IngestProducer.Ended {
      if let outcome = ended.outcome { status.ended(outcome) }
      if ended.outcome != .withdrawn { committed = [:] }
      pending.removeAll()
      sections.removeAll()
      dropInput()
      positions = committed
      isPlaced = false
    }
  }

  private func dropInput() {
    member.dropInput()
    rows?.restart()
  }

  private func step() throws {
    status.heartbeat()
    try going {
      try producer.register()
      if let rebalance { return try complete(rebalance) }
      if !isPlaced { try place() }
      guard isPlaced else {
        try member.pollIdle(timeoutMilliseconds: Self.idleMilliseconds)
        return try take(member.idleBatch)
      }
      let left = hasNews ? max(0, nextCommit - MonotonicClock.milliseconds()) : Int64(Self.idleMilliseconds)
      try member.poll(timeoutMilliseconds: Int32(left))
      try take(member.batch)
      if rebalance == nil { try write() } else { dropInput() }
      if hasNews,
        producer.bytes >= configuration.maxTransactionBytes || MonotonicClock.milliseconds() >= nextCommit
      {
        try commit()
      }
      try producer.poll()
    }
    tell()
  }

  /// Notes rebalances and errors that a poll brought.
  private func take(_ batch: KafkaBatch) throws(DaemonError) {
    if let rebalance = batch.rebalance { self.rebalance = rebalance }
    for case .error(let error) in batch.events {
      if error.isFatal { throw DaemonError(error) }
      if error.kind.isRefusal { throw .cannot("read", error) }
      switch error.kind {
      case .autoOffsetReset:
        // What is gone is found out when reading begins.
        (committed, positions, isPlaced) = ([:], [:], false)
      case .unknownTopic, .unknownTopicOrPartition:
        log.write(
          .ingestTopicMissing,
          "a topic of ingest.sources does not exist yet, or may not be read",
          ["error": error]
        )
      default:
        let isTransient = error.isRetriable
        log.write(
          isTransient ? .inputRetrying : .inputError,
          isTransient ? "transient Kafka error; retrying" : "Kafka error",
          ["error": error]
        )
      }
    }
  }

  /// Writes what the records of the last poll become.
  private func write() throws {
    guard let rows else { return }
    let spans = member.batch.spans
    if let repeated = spans.first(where: { $0.first < positions[$0.partition] ?? .max }) {
      log.write(.inputRepeated, "input was delivered twice; rereading it", ["partition": repeated.partition])
      if producer.isOpen { try producer.abort() }
      throw IngestProducer.Ended(outcome: .withdrawn)
    }
    if !spans.isEmpty { try producer.begin() }
    while let record = try rows.current() {
      let (key, value) = (record.key?.rawBuffer, record.valueBytes?.rawBuffer)
      let partition = items.partition(forKey: key)
      try producer.produce(
        topic: configuration.store.topics.items,
        partition: partition,
        key: key,
        value: value
      )
      rows.advance()
    }
    for span in spans { positions[span.partition] = span.last + 1 }
    // Markers of transactions may follow the last records.
    for end in member.batch.ends where end.offset > positions[end.topicPartition] ?? .max {
      positions[end.topicPartition] = end.offset
    }
    keepFetching(unread: positions.filter { consumer.knownEnd(of: $0.key) ?? 0 > $0.value })
  }

  /// A row was mapped; its records follow.
  private func note(_ row: InputRecord, _ outcome: RowMapper.Outcome, of source: Int?) throws {
    if let source { pending.add(outcome, of: source) }
    guard case .rejected(let rejection) = outcome else { return }
    let record = RejectedRecord(row, rejection)
    pending.add(record)
    let message = RejectedMessage(record, environment.rejectedLimit)
    try producer.produce(
      topic: configuration.store.topics.rejected,
      partition: row.partition % rejectedPartitions,
      key: message.key.bytes,
      value: message.value.bytes,
      headers: message.headers,
      timestampMilliseconds: record.time
    )
  }

  /// Whether something was read that is not committed.
  private var hasNews: Bool { producer.isOpen || positions != committed }

  private func commit() throws {
    try producer.begin()
    try producer.commit { [unowned self] () throws(KafkaError) in
      let news = positions.filter { committed[$0.key] != $0.value }
      return (news.mapValues { CommittedOffset($0) }, try consumer.membership())
    }
    committed = positions
    nextCommit = MonotonicClock.milliseconds() + Self.windowMilliseconds
    report.add(pending, log)
    environment.status.committed(report.counters, rejected: pending.examples, by: status.number)
    status.ended(.committed)
    status.committed(&member.batch.taken) { consumer.topicName(at: $0) }
    pending.removeAll()
  }

  /// Has fetching go on as soon as the queue of fetched records is half empty, and not a second later (librdkafka 2.0.2).
  private func keepFetching(unread: [TopicPartition: Int64]) {
    guard !KafkaSettings.noticesRoom,
      backlog.isDue(records: member.batch.count, at: MonotonicClock.milliseconds())
    else { return }
    let count = unread.reduce(0) { $0 + (consumer.knownEnd(of: $1.key) ?? 0) - $1.value }
    backlog.poll(isEmpty: member.batch.isEmpty, unread: count)
    guard backlog.isBehind,
      let partition = backlog.wake(fetched: consumer.fetchedCount, of: Array(unread.keys))
    else { return }
    consumer.wakeFetcher(of: partition)
  }

  /// Tells once a second how far behind it is.
  private func tell() {
    let now = MonotonicClock.milliseconds()
    guard now >= nextLag else { return }
    nextLag = now + 1_000
    var lag: [TopicPartition: Int64] = [:]
    for (partition, offset) in committed {
      if let end = consumer.knownEnd(of: partition) { lag[partition] = max(0, end - offset) }
    }
    environment.status.lags(lag, of: status.number)
  }

  // MARK: Partitions

  /// Polls the group while a transaction takes long, so that it does not count this member out.
  private func serveGroup() throws {
    status.heartbeat()
    guard member.isPollDue else { return }
    member.postponePoll()
    try consumer.pause(Array(held))
    isPlaced = false
    try member.pollIdle()
    try take(member.idleBatch)
  }

  /// Completes a rebalance; before, what was read is committed, unless its partitions are lost.
  private func complete(_ first: Rebalance) throws {
    try going {
      if first.kind == .lost { if producer.isOpen { try producer.abort() } } else if hasNews { try commit() }
    }
    // Another may have come meanwhile.
    guard let rebalance else { return }
    self.rebalance = nil
    dropInput()
    let isGain = rebalance.kind == .assigned
    if rebalance.needsNewConsumer {
      log.write(.groupEvicted, "the group removed this member in the middle of a rebalance; joining again")
      held = []
      try member.replace(closeMilliseconds: Self.closeMilliseconds)
      try join()
    } else {
      try consumer.complete(rebalance)
      held = isGain ? held.union(rebalance.partitions) : held.subtracting(rebalance.partitions)
      let event: LogEvent = isGain ? .groupAssigned : rebalance.kind == .lost ? .groupLost : .groupRevoked
      log.write(event, "partitions changed", ["partitions": rebalance.partitions.count, "all": held.count])
      if isGain { status.update { $0.phase = .running } }
    }
    committed = committed.filter { held.contains($0.key) }
    positions = committed
    isPlaced = false
  }

  /// Has all partitions read from where they are, or from what is committed; if that fails, the next step tries again.
  private func place() throws {
    let all = Array(held)
    let unknown = all.filter { positions[$0] == nil }
    do {
      try consumer.pause(all)
      if !unknown.isEmpty {
        let offsets = try consumer.committed(unknown, timeoutMilliseconds: Self.askMilliseconds)
        for partition in unknown {
          let ends = try consumer.queryWatermarks(partition, timeoutMilliseconds: Self.askMilliseconds)
          let start = try start(of: partition, offsets[partition]?.offset, ends)
          (committed[partition], positions[partition]) = (start, start)
        }
      }
      let starts = all.compactMap { partition in
        positions[partition].map { TopicPartitionOffset(partition, offset: $0) }
      }
      try consumer.seek(starts, timeoutMilliseconds: Self.seekMilliseconds)
      try consumer.resume(all)
      isPlaced = true
    } catch let error as KafkaError where !error.isFatal {
      log.write(.inputRetrying, "could not begin to read; retrying", ["error": error])
    }
  }

  /// Where reading of a partition begins.
  private func start(
    of partition: TopicPartition,
    _ offset: Int64?,
    _ ends: Watermarks
  ) throws(DaemonError) -> Int64 {
    guard let offset else { return ends.low }
    switch InputStart.finding(partition, offset, ends) {
    case .committed, .noneCommitted: return offset
    case .lost(let loss), .restarted(let loss):
      guard configuration.lostInput == .continue else {
        throw DaemonError(
          .lostInput,
          """
          \(loss); set kafka.onLostInput to "continue" to go on at offset \(ends.low) without it, or ingest.group to another \
          name to read everything that is there again
          """
        )
      }
      log.write(.inputLost, loss, ["partition": partition])
      return ends.low
    }
  }
}
