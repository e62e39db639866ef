import Feed
import FeedStore
import Glibc
import Kafka
import Service

/// Reads its share of the input, keeps its feeds, and publishes what changes: one consumer, one
/// transactional producer, one store, on one thread.
///
/// It is a shell around decisions that are made elsewhere: what to do next (``WorkerStep``), how feeds are
/// restored (``Restoration``), what an error means (``FlushRecovery``), from where to read again
/// (``InputPositions``), whether the topics fit (``TopicLayout``).
///
/// While it serves, it runs *inside* the store's isolation. Partitions are revoked by a callback in the
/// middle of a poll and must be flushed before it returns; from outside of the store that could not be
/// waited for. Because of that callback nothing of the worker may be lent (`inout`) to a poll.
///
/// Unchecked: it is made and used on the worker's thread only.
final class Worker: @unchecked Sendable {
  let options: FeedStoreOptions
  let settings: KafkaSettings
  let lostInput: LostInputPolicy
  let stop: StopRequest
  let log: Log
  let onEvent: @Sendable (DaemonEvent) -> Void
  let consumer: Consumer
  let producer: TransactionalProducer
  let batch: KafkaBatch
  var positions = InputPositions()
  var recovery = FlushRecovery()
  var restoration = Restoration()
  var progress = RestoreProgress(now: 0)
  /// What the restoration reads with; nil when there is none under way.
  var changesets: ChangesetReader?
  /// How long to wait before its next step, in milliseconds.
  var restorePause: Int32 = 0
  var transaction: FlushTransaction?
  /// What was done with stores that are gone.
  var earlierCounters = StoreCounters()
  /// Input partitions that the group has given us.
  var assignedCount = 0
  /// Whether the store has to be dropped, as its partitions are gone.
  private var isReleased = false
  /// What went wrong inside a callback, to be thrown after it.
  private var callbackFailure: DaemonError?

  private static let batchCapacity = 10_000
  private static let metadataMilliseconds: Int32 = 1_000
  private static let closeMilliseconds: Int32 = 5_000

  init(
    number: Int,
    options: FeedStoreOptions,
    settings: KafkaSettings,
    lostInput: LostInputPolicy,
    stop: StopRequest,
    log: Log,
    onEvent: @escaping @Sendable (DaemonEvent) -> Void
  ) throws(KafkaError) {
    self.options = options
    self.settings = settings
    self.lostInput = lostInput
    self.stop = stop
    self.log = log
    self.onEvent = onEvent
    var member = settings.member
    // Input that goes while it is read would be passed over without a word.
    if lostInput == .fail { member["auto.offset.reset"] = "error" }
    consumer = try Consumer(configuration: member, isolationLevel: .readCommitted, log: log.kafkaHandler)
    // Where to begin, the restoration finds out.
    consumer.assignmentStart = TopicPartitionOffset.beginning
    let producing = settings.transactionalProducer(worker: number, host: Self.hostName, process: getpid())
    producer = try TransactionalProducer(configuration: producing, log: log.kafkaHandler)
    batch = KafkaBatch(consumer, capacity: Self.batchCapacity)
  }

  private static var hostName: String {
    var name = utsname()
    uname(&name)
    return withUnsafeBytes(of: &name.nodename) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Joins the group and works until it is asked to stop.
  ///
  /// - Returns: what was done, and the feeds at the end.
  /// - Throws: ``DaemonError`` that names the cause and the remedy.
  func run() async throws -> DaemonReport {
    do {
      guard let layout = try findTopics() else { return DaemonReport() }
      let transaction = FlushTransaction(producer, options, layout)
      try transaction.start { [stop] in !stop.isRequested }
      self.transaction = transaction
      try consumer.subscribe(options.topics.inputs)
      log.info("joining the group", ["topics": options.topics.inputs.joined(separator: ",")])
      while true {
        let store = FeedStore(options: options)
        if let report = try await serve(store) { return report }
      }
    } catch {
      // What waits cannot be published any more, also not when the partitions are given up.
      consumer.onRebalance = nil
      close()
      if let error = error as? KafkaError {
        // Asked to stop while waiting for the brokers.
        if error.isRetriable, stop.isRequested, transaction == nil { return DaemonReport() }
        throw DaemonError(error)
      }
      throw error
    }
  }

  /// Waits for the brokers, and checks that the topics fit together; nil if asked to stop meanwhile.
  private func findTopics() throws -> TopicLayout? {
    var failures = 0
    while !stop.isRequested {
      do {
        let metadata = try consumer.metadata(
          options.topics.distinct,
          timeoutMilliseconds: Self.metadataMilliseconds
        )
        return try TopicLayout(options.topics, metadata)
      } catch let error as KafkaError where error.isRetriable && !error.isFatal {
        if failures % 10 == 0 { log.warning("waiting for Kafka", ["error": error]) }
        failures += 1
      }
    }
    close()
    return nil
  }

  /// Works with one store until the partitions it is for are gone or the end was asked for.
  ///
  /// - Returns: the report at the end; nil when a new store is needed.
  private func serve(_ store: isolated FeedStore) throws -> DaemonReport? {
    consumer.onRebalance = { event in self.rebalance(event, store) }
    isReleased = false
    while true {
      try applyBatch(to: store)
      let now = MonotonicClock.milliseconds()
      let step = WorkerStep(
        deadline: store.deadline,
        now: now,
        isStopping: stop.isRequested,
        isRestoring: restoration.isUnderWay
      )
      switch step {
      case .stop:
        return try finish(store)
      case .flush:
        try flush(store)
      case .restore:
        // The input is paused: this is for the group's sake, and to hear of a rebalance.
        try poll(timeoutMilliseconds: restorePause)
        if isReleased { return nil }
        // What comes all the same is read again from where the reading begins.
        batch.discard()
        try restore(store)
      case .poll(let timeoutMilliseconds):
        try poll(timeoutMilliseconds: timeoutMilliseconds)
        batch.note(in: &positions)
        // A new assignment begins with a restoration, and then with its input.
        if restoration.isUnderWay { batch.discard() }
        if !batch.isEmpty { onEvent(.received(records: batch.count)) }
        // What the poll brought besides is of the next assignment.
        if isReleased { return nil }
      }
    }
  }

  private func poll(timeoutMilliseconds: Int32) throws {
    try batch.poll(timeoutMilliseconds: timeoutMilliseconds)
    try handleEvents()
    if let callbackFailure { throw callbackFailure }
  }

  private func applyBatch(to store: isolated FeedStore) throws {
    while try store.apply(batch, time: .clock(MonotonicClock.milliseconds())) == .flushDue {
      try flush(store)
    }
  }

  private func handleEvents() throws(DaemonError) {
    for case .error(let error) in batch.events {
      if error.isFatal { throw DaemonError(error) }
      if error.kind == .autoOffsetReset {
        throw DaemonError(
          .lostInput,
          "input is lost while it is read: \(error); start feedstore again to be told exactly what is missing"
        )
      }
      if error.isRetriable {
        log.warning("Kafka is disturbed; reading goes on by itself", ["error": error])
      } else {
        log.error("Kafka reports an error", ["error": error])
      }
    }
  }

  /// Publishes what waits, leaves the group, and closes everything within the time that is given for it.
  private func finish(_ store: isolated FeedStore) throws -> DaemonReport {
    log.info("stopping")
    try flush(store)
    let report = DaemonReport(
      counters: earlierCounters.adding(store.counters),
      feeds: store.summaries()
    )
    close()
    return report
  }

  /// What happens to the input partitions; called inside a poll, or while the consumer is closed.
  private func rebalance(_ event: RebalanceEvent, _ store: isolated FeedStore) {
    switch event {
    case .assigned(let partitions):
      log.info("assigned", ["partitions": Self.list(partitions)])
      assignedCount = partitions.count
      do {
        try beginRestoring(partitions)
      } catch {
        callbackFailure = DaemonError(error)
      }
      onEvent(.assigned(partitions: partitions.count))
    case .revoking(let partitions):
      do {
        try flush(store, isRevoking: true)
      } catch {
        callbackFailure = error
      }
      release(store, partitions, "revoked")
    case .lost(let partitions):
      // Somebody else may have them already: what waits would not be accepted.
      if store.hasWaitingRecords { store.rollBack() }
      release(store, partitions, "lost")
    }
  }

  /// Drops the state of partitions that are no longer ours.
  private func release(_ store: isolated FeedStore, _ partitions: [TopicPartition], _ how: String) {
    log.info("partitions \(how)", ["partitions": Self.list(partitions)])
    earlierCounters = earlierCounters.adding(store.counters)
    positions.removeAll()
    dropRestoration()
    assignedCount = 0
    isReleased = true
    onEvent(.released)
  }

  private static func list(_ partitions: [TopicPartition]) -> String {
    partitions.isEmpty ? "none" : partitions.map { "\($0.topic)/\($0.partition)" }.joined(separator: ",")
  }

  /// Leaves the group and closes the clients; what takes too long goes on in the background or is left.
  private func close() {
    do {
      try consumer.close(timeoutMilliseconds: closeTime)
    } catch {
      log.warning("the group will miss this worker until its session times out", ["error": error])
    }
    do {
      try producer.close(timeoutMilliseconds: closeTime)
    } catch {
      log.debug("the producer is left to close by itself", ["error": error])
    }
  }

  private var closeTime: Int32 {
    guard let deadline = stop.deadline else { return Self.closeMilliseconds }
    return Int32(clamping: max(100, deadline - MonotonicClock.milliseconds()))
  }
}
