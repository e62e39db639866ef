import Changesets
import Feed
package import FeedConfiguration
package import FeedKafka
import FeedStore
package import FeedWorker
package import Kafka
import Service

/// Reads the sources' topics as a member of a group, and writes what their records become, with the offsets in the same transactions.
///
/// Whatever goes wrong, it goes back to what is committed: another producer ends the transaction, and then the brokers know where to go
/// on. Used on one thread.
package final class IngestWorker {
  private let configuration: FeedStoreConfiguration
  private let settings: KafkaSettings
  private let identity: WorkerIdentity
  private let environment: WorkerEnvironment
  private let status: WorkerStatus
  private let member: FeedWorker.GroupMember
  private let sections = SentSections()
  private let mappers: [String: RowMapper]
  @exclusivity(unchecked) private var items = Murmur2Partitioner(partitionCount: 1)
  private var rejectedPartitions: Int32 = 1

  @exclusivity(unchecked) private var producer: any TransactionClient
  /// Whether Kafka knows the producer, and whether it has a transaction.
  private var isRegistered = false
  private var isOpen = false
  /// Bytes of the transaction, and the first rejected record of each code in it.
  @exclusivity(unchecked) private var bytes = 0
  private var rejected: [RejectedRecord] = []
  private var failures = TransactionFailures()
  private var failuresInARow = 0
  /// When the next transaction may be committed.
  private var nextCommit: Int64 = 0

  /// The partitions that the group has given it, and a rebalance that is not completed.
  private var held: Set<TopicPartition> = []
  private var rebalance: Rebalance?
  /// What is read next of each, and what is committed.
  private var positions: [TopicPartition: Int64] = [:]
  private var committed: [TopicPartition: Int64] = [:]
  /// Whether the consumer reads all partitions from there; else they are paused.
  private var isPlaced = false
  private var backlog = Backlog(maxRecords: 10_000)
  private var report = RowReport()
  private var nextLag: Int64 = 0

  private static let idleMilliseconds: Int32 = 100
  private static let callMilliseconds: Int32 = 1_000
  /// For calls that are not made again; and for offsets, as a group coordinator that moves is back in less, and librdkafka 2.0.2 gives the
  /// transaction up otherwise.
  private static let longMilliseconds: Int32 = 5_000
  /// How long a full queue has time to empty.
  private static let queueMilliseconds: Int32 = 5
  /// What helps if input is lost.
  private static let renewal = "ingest.group to another name, so that everything that is there is read again"
  private static let retryMilliseconds = ExponentialBackoff<Int32>(from: 20, to: 1_000)
  /// Between two commits: each costs brokers some writes.
  private static let windowMilliseconds: Int64 = 100

  private var consumer: any GroupConsumer { member.consumer }
  private var log: Log { environment.log }

  package init(
    _ identity: WorkerIdentity,
    _ configuration: FeedStoreConfiguration,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment
  ) throws(KafkaError) {
    self.configuration = configuration
    // Records are written for a whole window before they are committed.
    var settings = settings
    settings.lingerMilliseconds = 5
    self.settings = settings
    self.identity = identity
    self.environment = environment
    status = environment.status.worker(identity.number)
    var consuming = settings.member(identity)
    // Input that goes while it is read would be passed over without a word.
    consuming["auto.offset.reset"] = "error"
    member = try FeedWorker.GroupMember(consuming, settings, environment, status)
    producer = try environment.makeProducer(failures.producer(of: identity, settings))
    let (limits, sections) = (configuration.store.limits, sections)
    let mappers = configuration.ingest.sources.enumerated().map { number, source in
      (source.topic, RowMapper(source, number: number, limits, sections))
    }
    self.mappers = Dictionary(uniqueKeysWithValues: mappers)
  }

  /// Works until it is asked to stop.
  package func run() throws {
    defer {
      member.close(timeoutMilliseconds: Self.longMilliseconds)
      try? producer.close(timeoutMilliseconds: Self.longMilliseconds)
    }
    let topics = configuration.store.topics
    let written = [topics.items, topics.rejected]
    let wait = configuration.startupTimeoutMilliseconds
    guard let metadata = try member.findTopics(written, waitMilliseconds: wait) else { return }
    guard metadata.missing.isEmpty else { throw DaemonError.missing(metadata.missing) }
    environment.status.found(TopicChanges(topics, metadata, isIngesting: true))
    items = Murmur2Partitioner(partitionCount: metadata.partitionCounts[topics.items] ?? 1)
    rejectedPartitions = metadata.partitionCounts[topics.rejected] ?? 1
    try join()
    while !environment.stop.isRequested {
      do { try step() } catch let error as KafkaError { try recover(from: error) }
      tell()
    }
    log.write(.shutdownStopping, "stopping; committing what was mapped")
    do { try commit() } catch let error as KafkaError { try recover(from: error) }
  }

  private func join() throws(KafkaError) {
    let topics = configuration.ingest.topics
    log.write(.groupJoining, "joining the group", ["topics": topics.joined(separator: ",")])
    try consumer.subscribe(topics, companions: [])
    status.update { $0.phase = .joining }
  }

  // MARK: The loop

  private func step() throws {
    status.heartbeat()
    if let rebalance { return try complete(rebalance) }
    guard isPlaced else {
      let wait = failuresInARow > 0 ? Self.retryMilliseconds[failuresInARow - 1] : 0
      try poll { () throws(KafkaError) in try member.pollIdle(timeoutMilliseconds: wait) }
      try take(member.idleBatch)
      return rebalance == nil ? try place() : ()
    }
    let left = hasNews ? max(0, nextCommit - environment.milliseconds()) : Int64(Self.idleMilliseconds)
    try poll { () throws(KafkaError) in try member.poll(timeoutMilliseconds: Int32(left)) }
    try take(member.batch)
    if rebalance == nil { try write() } else { member.dropInput() }
    let isFull = bytes >= configuration.maxTransactionBytes
    if isFull || environment.milliseconds() >= nextCommit { try commit() }
    try producer.poll(timeoutMilliseconds: 0)
  }

  /// Polls. A consumer that has failed for good ends the process; only a producer is replaced.
  private func poll(_ call: () throws(KafkaError) -> Void) throws {
    do throws(KafkaError) { try call() } catch { throw error.isFatal ? DaemonError(error) : error }
  }

  /// Notes rebalances and errors that a poll brought.
  private func take(_ batch: KafkaBatch) throws {
    if let rebalance = batch.rebalance { self.rebalance = rebalance }
    for case .error(let error) in batch.events {
      switch error.kind {
      // What is gone is found out when reading begins again.
      case .autoOffsetReset: throw error
      case .unknownTopic, .unknownTopicOrPartition:
        log.write(
          .ingestTopicMissing,
          "a topic of ingest.sources does not exist yet, or may not be read",
          ["error": error]
        )
      default: try member.note(error)
      }
    }
  }

  /// Writes what the records of the last poll become.
  private func write() throws {
    let spans = member.batch.spans
    if let repeated = spans.first(where: { $0.first < positions[$0.partition] ?? .max }) {
      log.write(.inputRepeated, "input was delivered twice; rereading it", ["partition": repeated.partition])
      throw KafkaError.make(.state, "read \(repeated.partition)", detail: "input was delivered twice")
    }
    if !spans.isEmpty { try begin() }
    let itemsTopic = configuration.store.topics.items
    var (topic, mapper): (Int, RowMapper?) = (-1, nil)
    try member.batch.takeAll { message in
      if message.topicIndex != topic {
        topic = message.topicIndex
        mapper = mappers[consumer.topicName(at: topic)]
      }
      guard let mapper else { return }
      let outcome = mapper.map(
        key: message.key.map { ByteSpan($0) },
        value: message.payload.map { ByteSpan($0) }
      ) { message.headers().contains { $0.name == RowMapper.rekeyedHeader } }
      if case .rejected(let rejection) = outcome { try reject(message, rejection) }
      for index in 0..<mapper.recordCount {
        let (feed, value) = mapper.record(index)
        let partition = items.partition(forKey: feed.rawBuffer)
        try produce(itemsTopic, partition, feed.rawBuffer, value.rawBuffer)
      }
    }
    for span in spans { positions[span.partition] = span.last + 1 }
    // Markers of transactions may follow the last records.
    for end in member.batch.ends where end.offset > positions[end.topicPartition] ?? .max {
      positions[end.topicPartition] = end.offset
    }
    let now = environment.milliseconds()
    guard backlog.isDue(records: member.batch.count, at: now) else { return }
    let unread = member.unread(after: positions)
    backlog.poll(isEmpty: member.batch.isEmpty, unread: unread.count)
    if backlog.isBehind { member.keepFetching(unread.partitions, &backlog) }
  }

  private func reject(_ message: Message, _ rejection: Rejection) throws(KafkaError) {
    let record = RejectedRecord(member.batch.record(of: message), rejection)
    let isKnown = rejected.contains { $0.rejection.code == rejection.code }
    if !isKnown { rejected.append(record) }
    let copy = RejectedMessage(record, environment.rejectedLimit)
    let partition = message.partition % rejectedPartitions
    let topic = configuration.store.topics.rejected
    try produce(topic, partition, copy.key.bytes, copy.value.bytes, copy.headers, time: record.time)
  }

  /// Tells once a second how far behind it is, and sometimes what has become of the rows.
  private func tell() {
    let now = environment.milliseconds()
    guard now >= nextLag else { return }
    nextLag = now + 1_000
    environment.status.lags(member.lag(behind: committed), of: status.number)
    member.noteOpenTransactions(behind: committed)
    report.log(status.statistics.rows, at: now, log)
    for (topic, mapper) in mappers where mapper.takeOrderWarning() {
      log.write(
        .ingestOrderByBytes,
        "items are sorted by decimals that are bytes in Base64; give 'decimals' of the source the scale, as in {\"/price\": 2}",
        ["topic": topic]
      )
    }
    sections.forget(at: now)
  }

  // MARK: Transactions

  /// Whether something was read that is not committed.
  private var hasNews: Bool { positions != committed }

  private func begin() throws {
    if isOpen { return }
    // A request that was sent twice must find its epoch over.
    if producer.hasLostConnection { try replaceProducer() }
    try register()
    try producer.begin()
    (isOpen, bytes) = (true, 0)
    failures.begin(at: environment.milliseconds())
  }

  private func register() throws(KafkaError) {
    if !isRegistered { try producer.initTransactions(timeoutMilliseconds: Self.callMilliseconds) }
    isRegistered = true
  }

  private func produce(
    _ topic: String,
    _ partition: Int32,
    _ key: UnsafeRawBufferPointer?,
    _ value: UnsafeRawBufferPointer?,
    _ headers: HeaderList = HeaderList(),
    time: Int64 = 0
  ) throws(KafkaError) {
    bytes += (key?.count ?? 0) + (value?.count ?? 0) + headers.byteCount
    while true {
      do throws(KafkaError) {
        try producer.produce(
          topic: topic,
          partition: partition,
          key: key,
          value: value,
          headers: headers,
          timestampMilliseconds: time
        )
        environment.crash?.reach(.afterProduce)
        return
      } catch  where error.kind == .queueFull {
        status.heartbeat()
        try producer.poll(timeoutMilliseconds: Self.queueMilliseconds)
      }
    }
  }

  private func commit() throws {
    guard hasNews else { return }
    try begin()
    let news = positions.filter { committed[$0.key] != $0.value }.mapValues { CommittedOffset($0) }
    // If a late request ends the transaction too early, records that follow are refused: their offsets must not be committed.
    try repeating { () throws(KafkaError) in
      try producer.flush(timeoutMilliseconds: Self.callMilliseconds)
    }
    try repeating { () throws(KafkaError) in
      let membership = try consumer.membership()
      try producer.sendOffsets(news, membership, timeoutMilliseconds: Self.longMilliseconds)
    }
    environment.crash?.reach(.afterOffsets)
    try repeating { () throws(KafkaError) in
      // Requested, and not awaited, before the process ends.
      let isLast = environment.crash?.isNext(.inCommit) == true
      if isLast { try producer.flush(timeoutMilliseconds: Self.callMilliseconds) }
      defer { environment.crash?.reach(.inCommit) }
      try producer.commit(timeoutMilliseconds: isLast ? 1 : Self.callMilliseconds)
    }
    (isOpen, committed, failuresInARow) = (false, positions, 0)
    failures.commit()
    nextCommit = environment.milliseconds() + Self.windowMilliseconds
    noteCommit()
  }

  private func noteCommit() {
    for record in rejected {
      log.write(
        .ingestRejected,
        "rows could not be mapped",
        [
          "topic": String(decoding: record.topic, as: UTF8.self), "partition": record.partition,
          "offset": record.offset, "code": record.rejection.code.rawValue, "reason": record.rejection.message,
        ]
      )
    }
    let rows = mappers.mapValues { $0.takeCounts() }.filter { !$0.value.isEmpty }
    status.update { $0.add(rows) }
    environment.status.committed(status.statistics.counters, rejected: rejected, by: status.number)
    status.ended(.committed)
    status.committed(&member.batch.taken) { consumer.topicName(at: $0) }
    rejected = []
  }

  /// Makes a call again as long as that may help, and there is time.
  private func repeating(_ call: () throws(KafkaError) -> Void) throws(KafkaError) {
    var times = 0
    while true {
      status.heartbeat()
      do throws(KafkaError) {
        return try call()
      } catch {
        let isLate = environment.stop.deadline.map { environment.milliseconds() > $0 } ?? false
        guard error.isRetriable, !isLate else { throw error }
        try producer.poll(timeoutMilliseconds: Self.retryMilliseconds[times])
        times += 1
      }
    }
  }

  /// Goes back to what is committed.
  private func recover(from error: KafkaError) throws {
    failuresInARow += 1
    failures.fail(error)
    log.write(.transactionCallFailed, "going back to what is committed", ["error": error])
    var isEndedByOther = error.kind == .invalidTransactionState
    if isOpen || error.isFatal || !isRegistered && !error.isRetriable {
      if try replaceProducer() { isEndedByOther = true }
    }
    if error.kind.needsSomebody { throw DaemonError.cannot("go on", error) }
    if let change = environment.status.topicChanges.first(where: \.isLoss) {
      throw DaemonError(.partitionCounts, change.description)
    }
    for mapper in mappers.values { _ = mapper.takeCounts() }
    sections.removeAll()
    member.dropInput()
    // The offsets that the brokers have may be those of the transaction that was ended too early.
    if !isEndedByOther { committed = [:] }
    (positions, rejected, isPlaced) = (committed, [], false)
  }

  /// Another producer ends the transaction when it is registered. It has an epoch of its own, so that nothing that arrives late of the
  /// transaction belongs to the next.
  ///
  /// - Returns: whether a late request had ended the transaction.
  @discardableResult
  private func replaceProducer() throws -> Bool {
    if isOpen {
      failures.end(at: environment.milliseconds(), settings)
      // librdkafka 2.0.2 may report only then what made a call fail.
      let isAborted = (try? producer.abort(timeoutMilliseconds: Self.callMilliseconds)) != nil
      status.ended(isAborted ? .withdrawn : .unknown)
    }
    _ = failures.take(producer.takeDeliveryErrors(), batchBytes: settings.batchBytes)
    let (refusal, isEndedByOther) = (failures.refusal, failures.lateEnd != nil)
    for error in failures.takeUndelivered() {
      log.write(.transactionRecordUndelivered, "record not delivered", ["error": error])
    }
    if let refusal { throw DaemonError.cannot("write", refusal) }
    try? producer.close(timeoutMilliseconds: Self.callMilliseconds)
    producer = try environment.makeProducer(failures.producer(of: identity, settings))
    (isOpen, isRegistered) = (false, false)
    return isEndedByOther
  }

  // MARK: Partitions

  /// Completes a rebalance; before, what was read is committed, unless its partitions are lost.
  private func complete(_ rebalance: Rebalance) throws {
    if rebalance.kind != .lost {
      try commit()
    } else if isOpen {
      try recover(from: .make(.unknownMember, "commit", detail: "partitions were lost"))
    }
    member.dropInput()
    if rebalance.needsNewConsumer {
      log.write(.groupEvicted, "the group removed this member in the middle of a rebalance; joining again")
      try member.replace(closeMilliseconds: Self.longMilliseconds)
      held = []
      try join()
    } else {
      // It cannot be completed again.
      do { try consumer.complete(rebalance) } catch { throw DaemonError(error) }
      let isGain = rebalance.kind == .assigned
      held = isGain ? held.union(rebalance.partitions) : held.subtracting(rebalance.partitions)
      let event: LogEvent = isGain ? .groupAssigned : rebalance.kind == .lost ? .groupLost : .groupRevoked
      log.write(event, "partitions changed", ["partitions": rebalance.partitions.count, "all": held.count])
      if isGain { status.update { $0.phase = .running } }
    }
    self.rebalance = nil
    committed = committed.filter { held.contains($0.key) }
    positions = committed
    isPlaced = false
  }

  /// Has all partitions read from where they are, or from what is committed; if that fails, the next step tries again.
  private func place() throws {
    try register()
    let all = Array(held)
    try consumer.pause(all)
    let unknown = all.filter { positions[$0] == nil }
    let offsets = try consumer.committed(unknown, timeoutMilliseconds: Self.callMilliseconds)
    for partition in unknown {
      let ends = try consumer.queryWatermarks(partition, timeoutMilliseconds: Self.callMilliseconds)
      let policy = configuration.lostInput
      let start = try InputStart(partition, committed: offsets[partition]?.offset, ends, policy, Self.renewal)
      start.log(log)
      (committed[partition], positions[partition]) = (start.position.offset, start.position.offset)
    }
    let starts = positions.map { TopicPartitionOffset($0.key, offset: $0.value) }
    try consumer.seek(starts, timeoutMilliseconds: Self.longMilliseconds)
    try consumer.resume(all)
    isPlaced = true
  }
}

/// Tells what has become of the rows of each source: a minute after its first, as a mistake in the mapping shows soon, and then more
/// and more rarely. Time is a parameter.
struct RowReport {
  /// By topic.
  private var due: [String: (time: Int64, interval: Int64)] = [:]

  private static let firstInterval: Int64 = 60_000
  private static let longestInterval: Int64 = 3_600_000
  /// What becomes of rows although the mapping is right.
  private static let harmless = [RowMapper.Outcome.deleted, .skipped].map(\.name)

  /// Logs the counts of each source if they are due, and whether nothing of it has become an item, which is probably a mistake;
  /// unless its rows were only deleted.
  mutating func log(_ rows: [String: [String: Int]], at now: Int64, _ log: Log) {
    for (topic, counts) in rows.sorted(by: { $0.key < $1.key }) {
      guard let (time, interval) = due[topic] else {
        due[topic] = (now + Self.firstInterval, Self.firstInterval)
        continue
      }
      guard now >= time else { continue }
      let next = min(10 * interval, Self.longestInterval)
      due[topic] = (now + next, next)
      let isFruitless =
        counts[RowMapper.Outcome.upserted.name] == nil
        && counts.keys.contains { !Self.harmless.contains($0) }
      log.write(
        isFruitless ? .ingestNothingMapped : .ingestProgress,
        isFruitless
          ? "no row has become an item; look for a mistake in format, in the templates or in where; --dry-run shows examples"
          : "rows mapped",
        ["topic": topic, "rows": Self.text(counts)]
      )
    }
  }

  fileprivate static func text(_ counts: [String: Int]) -> String {
    counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.key) \(Quantity.count($0.value))" }.joined(separator: ", ")
  }
}

extension DaemonReport {
  /// What `feedstore ingest` has done, for standard error.
  package var ingestText: String {
    var table = ReportTable("ingest")
    for (topic, counts) in (rows ?? [:]).sorted(by: { $0.key < $1.key }) {
      table.add(topic, text: RowReport.text(counts))
    }
    table.add("transactions", count: counters.flushes)
    return table.text
  }
}
