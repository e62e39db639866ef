import Changesets
import Diagnostics
import Feed
package import FeedConfiguration
package import FeedKafka
package import FeedStatus
import FeedStore
package import FeedTransactions
package import Kafka
import OperatingSystem

/// Reads the sources' topics as a member of a group, and writes the events and contents that their rows become, with the offsets
/// in the same transactions.
///
/// It is a shell: ``IngestMachine`` says what to do. Used on one thread.
package final class IngestWorker {
  private let configuration: FeedStoreConfiguration
  private let environment: WorkerEnvironment
  private let status: WorkerStatus
  private let member: InputReader
  private let calls: TransactionCaller
  @exclusivity(unchecked) private var machine = IngestMachine()

  private let sections = SentSections()
  private let mappers: [String: RowMapper]
  @exclusivity(unchecked) private var items = Murmur2Partitioner(partitionCount: 1)
  @exclusivity(unchecked) private var contents = Murmur2Partitioner(partitionCount: 1)
  private var rejectedPartitions: Int32 = 1
  /// Bytes of the transaction, and the first rejected record of each code in it.
  @exclusivity(unchecked) private var bytes = 0
  private var rejected: [RejectedRecord] = []

  private var backlog = Backlog(maxRecords: 10_000)
  private var report = RowReport()
  private var nextReport: Int64 = 0

  /// For calls that are not repeated.
  private static let longMilliseconds: Int32 = 5_000
  /// How long a full queue has time to empty.
  private static let queueMilliseconds: Int32 = 5
  /// The remedy for lost input.
  private static let renewal = "ingest.group to another name, so that everything that is there is read again"

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
    self.environment = environment
    status = environment.status.worker(identity.number)
    var consuming = settings.member(identity)
    // Input that goes while it is read would be passed over without a word.
    consuming["auto.offset.reset"] = "error"
    member = try InputReader(consuming, settings, environment, status)
    calls = try TransactionCaller(identity, settings, environment, reportsEnds: false)
    let (limits, sections) = (configuration.store.limits, sections)
    let schemas = SchemaRegistry(configuration.ingest.schemas)
    let mappers = configuration.ingest.sources.enumerated().map { number, source in
      (source.topic, RowMapper(source, number: number, limits, sections, schemas))
    }
    self.mappers = Dictionary(uniqueKeysWithValues: mappers)
  }

  /// Works until it is asked to stop.
  package func run() throws {
    do {
      var action = IngestMachine.firstAction
      while action != .end {
        status.heartbeat()
        action = machine.handle(try perform(action), at: environment.milliseconds())
        logProgress()
      }
    } catch {
      close()
      throw error
    }
  }

  /// Does what the machine says.
  ///
  /// - Returns: the result.
  private func perform(_ action: IngestAction) throws -> IngestEvent {
    switch action {
    case .findTopics: return .topicsFound(isStopping: try !findTopics())
    case .join: try join()
    case .poll(let timeout): return try poll(timeout)
    case .pollWithoutInput(let timeout):
      return try attempt("poll the group") { () throws in
        try member.pollIdle(timeoutMilliseconds: timeout)
        try noteErrors(of: member.idleBatch)
        return .polled(.init(rebalance: member.idleBatch.rebalance, isStopping: environment.stop.isRequested))
      }
    case .position(let partitions, let known):
      return try attempt("begin to read") { try .positioned(position(partitions, known)) }
    case .prepareProducer(let step):
      let outcome = calls.prepare(step, machine.transactions)
      if case .failed(let error) = outcome {
        log.write(.transactionProducerRefused, "could not register the producer", ["error": error])
      }
      return .called(outcome, stopDeadline: environment.stop.deadline)
    case .call(let step): return .called(call(step), stopDeadline: environment.stop.deadline)
    case .wait(let milliseconds): try calls.wait(milliseconds)
    case .confirm: confirm()
    case .rewind(let end, let repeated): try rewind(end, repeated)
    case .complete(let rebalance): try complete(rebalance)
    case .replaceConsumer:
      log.write(.groupEvicted, "the group removed this member in the middle of a rebalance; joining again")
      member.dropInput()
      try member.replace(closeMilliseconds: Self.longMilliseconds)
      try join()
    case .close:
      log.write(.shutdownStopping, "stopping; what was mapped is committed")
      close()
    case .end: preconditionFailure("ingest has ended")
    case .fail(let error):
      status.ended(.refused)
      calls.logUndelivered()
      throw DaemonError.cannot("write", error)
    }
    return .done
  }

  // MARK: The group

  /// - Returns: false if a stop was requested meanwhile.
  private func findTopics() throws -> Bool {
    let topics = configuration.store.topics
    let contentsTopic = mappers.values.contains(where: \.isContent) ? topics.contents : nil
    let written = [topics.items, topics.rejected] + (contentsTopic.map { [$0] } ?? [])
    let wait = configuration.startupTimeoutMilliseconds
    guard let metadata = try member.findTopics(written, waitMilliseconds: wait) else { return false }
    guard metadata.missing.isEmpty else { throw DaemonError.missing(metadata.missing) }
    environment.status.found(TopicChanges(topics, metadata, isIngesting: true))
    items = Murmur2Partitioner(partitionCount: metadata.partitionCounts[topics.items] ?? 1)
    contents = Murmur2Partitioner(partitionCount: contentsTopic.flatMap { metadata.partitionCounts[$0] } ?? 1)
    rejectedPartitions = metadata.partitionCounts[topics.rejected] ?? 1
    return true
  }

  private func join() throws(KafkaError) {
    let topics = configuration.ingest.topics
    log.write(.groupJoining, "joining the group", ["topics": topics.joined(separator: ",")])
    try consumer.subscribe(topics, companions: [])
    status.update { $0.phase = .joining }
  }

  private func close() {
    member.close(timeoutMilliseconds: Self.longMilliseconds)
    calls.close(timeoutMilliseconds: Self.longMilliseconds)
  }

  private func complete(_ rebalance: Rebalance) throws(DaemonError) {
    member.dropInput()
    // It cannot be completed again.
    do { try consumer.complete(rebalance) } catch { throw DaemonError(error) }
    let isGain = rebalance.kind == .assigned
    let event: LogEvent = isGain ? .groupAssigned : rebalance.kind == .lost ? .groupLost : .groupRevoked
    log.write(event, "partitions changed", ["partitions": rebalance.partitions.count])
    if isGain { status.update { $0.phase = .running } }
  }

  /// Continues reading at the known positions, or else at the committed offsets.
  ///
  /// - Returns: where partitions begin that have no known position.
  private func position(
    _ partitions: Set<TopicPartition>,
    _ known: [TopicPartition: Int64]
  ) throws -> [TopicPartition: Int64] {
    let wait = TransactionCaller.callMilliseconds
    let all = partitions.sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
    try consumer.pause(all)
    let unknown = all.filter { known[$0] == nil }
    let offsets = try consumer.committed(unknown, timeoutMilliseconds: wait)
    var starts: [TopicPartition: Int64] = [:]
    for partition in unknown {
      let ends = try consumer.queryWatermarks(partition, timeoutMilliseconds: wait)
      let policy = configuration.lostInput
      let start = try InputStart(partition, committed: offsets[partition]?.offset, ends, policy, Self.renewal)
      start.log(log)
      starts[partition] = start.position.offset
    }
    let positions = known.merging(starts) { $1 }.map { TopicPartitionOffset($0.key, offset: $0.value) }
    try consumer.seek(positions, timeoutMilliseconds: Self.longMilliseconds)
    try consumer.resume(all)
    return starts
  }

  // MARK: Input

  private func poll(_ timeoutMilliseconds: Int32) throws -> IngestEvent {
    try attempt("read") { () throws in
      let batch = member.batch
      try member.poll(timeoutMilliseconds: timeoutMilliseconds)
      try noteErrors(of: batch)
      _ = member.update(&backlog, at: environment.milliseconds(), after: machine.positions)
      return .polled(
        .init(
          rebalance: batch.rebalance,
          input: batch.spans,
          ends: batch.ends,
          isStopping: environment.stop.isRequested,
          isBehind: backlog.isBehind
        )
      )
    }
  }

  /// Reads, or returns to the committed offsets after an error.
  private func attempt(_ purpose: String, _ read: () throws -> IngestEvent) throws -> IngestEvent {
    do {
      return try read()
    } catch let error as KafkaError {
      // Only a producer is replaced.
      if error.isFatal { throw DaemonError(error) }
      if error.kind.needsSomebody { throw DaemonError.cannot(purpose, error) }
      log.write(.inputRetrying, "could not \(purpose); going back to what is committed", ["error": error])
      return .failed(error)
    }
  }

  private func noteErrors(of batch: KafkaBatch) throws {
    for case .error(let error) in batch.events {
      switch error.kind {
      // Lost input is found when reading begins again.
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

  // MARK: Transactions

  private func call(_ step: TransactionMachine.Step) -> TransactionMachine.Outcome {
    calls.call(step, machine.transactions) { () throws(KafkaError) in
      try write()
      return .wrote(endsTransaction: bytes >= configuration.maxTransactionBytes, isLast: true)
    } addOffsets: { () throws(KafkaError) in
      // If a late request ends the transaction too early, records that follow are refused: their offsets must not be committed.
      try calls.producer.flush(timeoutMilliseconds: TransactionCaller.callMilliseconds)
      try calls.producer.sendOffsets(
        machine.offsets.mapValues { CommittedOffset($0) },
        consumer.membership(),
        timeoutMilliseconds: TransactionCaller.offsetsMilliseconds
      )
    }
  }

  /// Writes the events and contents that the rows of the last poll become.
  private func write() throws(KafkaError) {
    let topics = configuration.store.topics
    var (topic, mapper): (Int, RowMapper?) = (-1, nil)
    try member.batch.takeAll { (message) throws(KafkaError) in
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
      if case .unavailable(let reason) = outcome {
        log.write(.ingestSchemaUnavailable, "a schema of Avro is missing; retrying", ["reason": reason])
        // A part of the batch is written already, so the call must not be repeated.
        throw KafkaError.make(.application, "read a schema", detail: reason, requiresAbort: true)
      }
      for index in 0..<mapper.recordCount {
        let (key, value) = mapper.record(index)
        let (topic, partition) =
          mapper.isContent
          ? (topics.contents ?? "", contents.partition(forKey: key.rawBuffer))
          : (topics.items, items.partition(forKey: key.rawBuffer))
        try produce(topic, partition, key.rawBuffer, value?.rawBuffer)
      }
    }
    try calls.producer.poll(timeoutMilliseconds: 0)
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
        try calls.producer.produce(
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
        try calls.wait(Self.queueMilliseconds)
      }
    }
  }

  /// Reports what was committed.
  private func confirm() {
    calls.confirm()
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
    status.committed(&member.batch.taken) { consumer.topicName(at: $0) }
    (rejected, bytes) = ([], 0)
  }

  /// Forgets what was polled and mapped since the last commit.
  private func rewind(_ end: IngestAction.TransactionEnd?, _ repeated: TopicPartition?) throws(DaemonError) {
    if let repeated {
      log.write(.inputRepeated, "input was delivered twice; rereading it", ["partition": repeated])
    }
    switch end {
    case .withdrawn?: calls.withdraw(machine.transactions)
    case .lost(let wait)?: calls.lose(machine.transactions, waitMilliseconds: wait)
    case nil: break
    }
    if let change = environment.status.topicChanges.first(where: \.isLoss) {
      throw DaemonError(.partitionCounts, change.description)
    }
    for mapper in mappers.values { _ = mapper.takeCounts() }
    sections.removeAll()
    member.dropInput()
    (rejected, bytes) = ([], 0)
  }

  /// Reports once a second how far behind it is, and sometimes the counts of the rows.
  private func logProgress() {
    let now = environment.milliseconds()
    guard now >= nextReport else { return }
    nextReport = now + 1_000
    environment.status.lags(member.lag(behind: machine.committed), of: status.number)
    member.noteOpenTransactions(behind: machine.committed)
    calls.serve()
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
}

/// Logs the outcomes of each source's rows: a minute after the first row, to show a mistake in the mapping
/// soon, and then at growing intervals. Time is a parameter.
struct RowReport {
  /// By topic.
  private var due: [String: (time: Int64, interval: Int64)] = [:]

  private static let firstInterval: Int64 = 60_000
  private static let longestInterval: Int64 = 3_600_000
  /// The outcomes that do not indicate a mistake in the mapping.
  private static let harmless = [RowMapper.Outcome.deleted, .skipped].map(\.name)

  /// Logs the counts of each source if they are due, and whether nothing of it was mapped, which is probably a mistake;
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
          ? "no row has become an item or a content; look for a mistake in format, in the templates or in where; --dry-run shows examples"
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
  /// The report of `feedstore ingest`, for standard error.
  package var ingestText: String {
    var table = ReportTable("ingest")
    for (topic, counts) in (rows ?? [:]).sorted(by: { $0.key < $1.key }) {
      table.add(topic, text: RowReport.text(counts))
    }
    table.add("transactions", count: counters.flushes)
    return table.text
  }
}
