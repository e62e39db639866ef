import Feed
package import FeedConfiguration
package import FeedKafka
import FeedStore
import Glibc
package import Kafka
import Service

/// Reads its share of the input, keeps its feeds, and publishes what changes: one consumer, one
/// transactional producer, one store, on one thread.
///
/// It is a shell around decisions that are made elsewhere: what to do next (``WorkerStep``), how feeds are
/// restored (``Restoration``), which call a transaction needs and what an error means
/// (``TransactionMachine``), from where to read again (``InputPositions``), whether the topics fit
/// (``TopicLayout``).
///
/// While it serves, it runs *inside* the store's isolation. Partitions are revoked by a callback in the
/// middle of a poll and must be flushed before it returns; from outside of the store that could not be
/// waited for. Because of that callback nothing of the worker may be lent (`inout`) to a poll.
///
/// Unchecked: it is made and used on the worker's thread only.
package final class Worker: @unchecked Sendable {
  let options: FeedStoreOptions
  let lostInput: LostInputPolicy
  private let startupTimeoutMilliseconds: Int64
  let settings: KafkaSettings
  let identity: WorkerIdentity
  let environment: WorkerEnvironment
  /// What it tells of itself.
  let status: WorkerStatus
  let consumer: Consumer
  let batch: KafkaBatch
  /// For polls in the midst of what takes long, when `batch` may hold records that are not applied.
  let idleBatch: KafkaBatch
  /// When the next such poll is due.
  var pollSchedule: PollSchedule
  /// Input partitions that the group has given us.
  var assigned: [TopicPartition] = []
  /// Those of them whose feeds could be restored.
  var readable: [TopicPartition] { assigned.filter { restoration.stopped[$0.partition] == nil } }
  var positions = InputPositions()
  /// Whether the store has to be dropped: its partitions are gone, or it is not known what is published.
  var isReleased = false

  // What publishes: Worker+Flush.swift, Worker+Producer.swift.
  var machine = TransactionMachine()
  var slowTransactions = SlowTransactions()
  /// How long the stages of a flush take.
  var flushClock = FlushClock()
  var producer: TransactionalProducer
  /// How long a transaction of this producer may take.
  var producerMilliseconds: Int
  var batchLimit = BatchLimit()
  /// What a call for a transaction failed with since the last commit.
  var lastFailure: KafkaError?
  /// What the producer that is to be replaced was lost for.
  var lossCause: KafkaError?
  var writer: PublicationWriter?
  /// The part of the flush that was handed out last; nil before the first.
  var part: Publication?
  /// When the flush was begun, in milliseconds of the monotonic clock.
  var flushStart: Int64 = 0
  /// Records of the transaction that could not be delivered.
  var undelivered = DeliveryErrors()
  /// Partitions that are paused until what takes long is done.
  var pausedMeanwhile: [TopicPartition] = []
  /// Before this time nothing is done about the producer, in milliseconds of the monotonic clock.
  var producerPauseEnd: Int64 = 0

  // What restores: Worker+Restore.swift.
  var restoration = Restoration()
  var progress = RestoreProgress(now: 0)
  /// What the restoration reads with; nil when there is none under way.
  var changesets: ChangesetReader?
  /// The partition of which the store takes over feeds; nil when there is none.
  var takingOver: ChangesetPartition?
  /// How long to wait before its next step, in milliseconds.
  var restorePause: Int32 = 0
  /// How often in a row that step has failed.
  var restoreFailures = 0
  /// Since when restoring fails by an error that may pass or not; nil if the last step did not.
  var doubtfulSince: Int64?
  /// When to say again which partitions are stopped, in milliseconds of the monotonic clock.
  var nextReminder: Int64 = 0

  // What joins the group once more: Worker+Rejoin.swift.
  /// When that is due, in milliseconds of the monotonic clock; nil if it is not.
  var rejoinTime: Int64?
  var hasRejoined = false

  /// What was done with stores that are gone.
  private(set) var earlierCounters = StoreCounters()
  /// The feeds that were given up after the end was asked for; nil if none were.
  private var feedsAtEnd: [FeedSummary]?
  /// Whether a rebalance is told of at the moment: nothing may be polled then.
  private(set) var isInRebalance = false
  /// What went wrong inside a callback, to be thrown after it.
  private var callbackFailure: DaemonError?

  var stop: StopRequest { environment.stop }
  var log: Log { environment.log }
  func onEvent(_ event: DaemonEvent) { environment.onEvent(event) }

  /// When to look next how far behind the worker is, in milliseconds of the monotonic clock.
  private var nextLagTime: Int64 = 0

  /// When to look next whether the input is behind, in milliseconds of the monotonic clock.
  private var nextBacklogTime: Int64 = 0
  /// The most records that were seen waiting for a poll since the input fell behind.
  private var mostFetched = 0
  /// Counts whose fetching was woken, so that it is another partition's the next time.
  private var wakeCount = 0

  private var backlog: Backlog
  private var memoryReturn = MemoryReturn()

  private static let lagMilliseconds: Int64 = 1_000
  private static let backlogMilliseconds: Int64 = 10
  /// A poll that brings so many is a reason to look at once.
  private static let manyRecords = 1_000
  private static let batchCapacity = 10_000
  private static let metadataMilliseconds: Int32 = 1_000
  private static let closeMilliseconds: Int32 = 5_000

  /// - Parameter identity: what the producer and the group know the worker by.
  package init(
    _ identity: WorkerIdentity,
    _ configuration: PipelineConfiguration,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment
  ) throws(KafkaError) {
    self.identity = identity
    self.settings = settings
    self.environment = environment
    status = environment.status.worker(identity.number)
    var options = configuration.store
    options.maxTransactionBytes = configuration.maxTransactionBytes
    self.options = options
    lostInput = configuration.lostInput
    startupTimeoutMilliseconds = configuration.startupTimeoutMilliseconds
    backlog = Backlog(maxRecords: options.coalescing.maxRecords)
    var member = settings.member(identity, url: configuration.http.feedsURL)
    // Input that goes while it is read would be passed over without a word.
    if lostInput == .fail { member["auto.offset.reset"] = "error" }
    let logHandler = environment.log.kafkaHandler
    consumer = try Consumer(configuration: member, isolationLevel: .readCommitted, log: logHandler)
    // Where to begin, the restoration finds out.
    consumer.assignmentStart = Consumer.startWithoutQuery
    let producing = settings.transactionalProducer(identity, slowInARow: 0)
    producer = try TransactionalProducer(configuration: producing, log: logHandler)
    producerMilliseconds = settings.transactionMilliseconds(slowInARow: 0)
    batch = KafkaBatch(consumer, capacity: Self.batchCapacity, clock: environment.coarseClock)
    idleBatch = KafkaBatch(consumer, capacity: 1, clock: environment.coarseClock)
    pollSchedule = PollSchedule(maxPollMilliseconds: settings.maxPollMilliseconds)
    reportStatistics()
  }

  /// Joins the group and works until it is asked to stop.
  ///
  /// - Returns: what was done, and the feeds at the end.
  /// - Throws: ``DaemonError`` that names the cause and the remedy.
  package func run() async throws -> DaemonReport {
    do {
      guard let layout = try findTopics() else { return DaemonReport() }
      writer = PublicationWriter(options, layout, environment.rejectedLimit, crash: environment.crash)
      try consumer.subscribe(options.topics.inputs)
      status.update { $0.phase = .joining }
      log.write(.groupJoining, "joining the group", ["topics": options.topics.inputs.joined(separator: ",")])
      while true {
        let store = FeedStore(options: options, budget: environment.stateBudget)
        if let report = try await serve(store) { return report }
      }
    } catch {
      // What waits cannot be published any more, also not when the partitions are given up.
      consumer.onRebalance = nil
      close()
      throw (error as? KafkaError).map { DaemonError($0) } ?? error
    }
  }

  /// Waits for the brokers, and checks that the topics fit together; nil if asked to stop meanwhile.
  private func findTopics() throws -> TopicLayout? {
    var wait = TopicWait(milliseconds: startupTimeoutMilliseconds)
    while !stop.isRequested {
      status.turn()
      do {
        let metadata = try consumer.metadata(
          options.topics.distinct,
          timeoutMilliseconds: Self.metadataMilliseconds
        )
        let (missing, now) = (metadata.missing, MonotonicClock.milliseconds())
        if !missing.isEmpty, wait.lasts(for: missing, at: now, log) {
          try idleBatch.poll(timeoutMilliseconds: TopicWait.pauseMilliseconds)
          continue
        }
        return try TopicLayout(options.topics, metadata)
      } catch let error as KafkaError where error.isRetriable && !error.isFatal {
        // What refuses the connection is told by the client.
        if !error.isConnectionFault {
          log.write(.startupWaitingForBrokers, "waiting for brokers", ["error": error])
        }
      }
    }
    close()
    return nil
  }

  /// Works with one store until it has to be dropped or the end was asked for.
  ///
  /// - Returns: the report at the end; nil when a new store is needed.
  private func serve(_ store: isolated FeedStore) throws -> DaemonReport? {
    consumer.onRebalance = { event in self.rebalance(event, store) }
    isReleased = false
    while !isReleased {
      try applyBatch(to: store)
      if isReleased { break }
      status.turn(waitingRecords: batch.taken.records)
      if backlog.isBehind {
        backlog.apply(unread: unread.count)
        store.noteBacklog(backlog.isBehind)
      }
      noteLag()
      remindOfStoppedPartitions()
      try rejoinIfDue()
      let step = WorkerStep(
        deadline: store.deadline,
        now: MonotonicClock.milliseconds(),
        isStopping: stop.isRequested,
        isProducerReady: machine.isReady,
        isRestoring: restoration.isUnderWay
      )
      switch step {
      case .stop:
        return try finish(store)
      case .flush:
        try flush(store)
      case .prepareProducer:
        try pollWithoutInput(timeoutMilliseconds: producerPause)
        if !isReleased { try prepareProducer(store) }
      case .restore:
        try pollWithoutInput(timeoutMilliseconds: restorePause)
        if !isReleased { try restore(store) }
      case .poll(let timeoutMilliseconds):
        try poll(timeoutMilliseconds: timeoutMilliseconds)
        // A new assignment begins with a restoration, and then with its input.
        if restoration.isUnderWay { batch.discard() }
        let repeated = batch.note(in: &positions)
        environment.backlog?.read(positions.read, by: identity.number)
        noteBacklog(of: store)
        if let partition = repeated {
          try readAgain(store, partition)
        } else if !batch.isEmpty {
          onEvent(.received(records: batch.count))
        }
      }
    }
    return nil
  }

  private func poll(timeoutMilliseconds: Int32) throws {
    try batch.poll(timeoutMilliseconds: timeoutMilliseconds)
    pollSchedule.poll(at: environment.coarseClock())
    try handleEvents(of: batch)
  }

  /// For the group's sake, and to hear of a rebalance. The input is paused; what comes all the same is read
  /// again from where the reading begins.
  private func pollWithoutInput(timeoutMilliseconds: Int32) throws {
    try poll(timeoutMilliseconds: timeoutMilliseconds)
    batch.discard()
  }

  /// Applies what was polled, serving the group between slices of it. A rebalance in between publishes or withdraws
  /// what was applied; the rest is dropped.
  private func applyBatch(to store: isolated FeedStore) throws {
    while !isReleased {
      batch.beginSlice(until: pollSchedule.dueTime)
      if try store.apply(batch, time: .clock(MonotonicClock.milliseconds())) == .flushDue {
        try flush(store)
      } else if batch.isUnfinished {
        try keepMembership()
      } else {
        break
      }
    }
    // What is left is of partitions that are gone, or is read again.
    if isReleased { return batch.discard() }
    try resumeInput(store)
    if !isReleased { coverEnds(store) }
  }

  /// Has the offsets committed of what ends transactions at the end of the input. Otherwise there would always be
  /// something unread, and when it is deleted like records, it would be missed like records.
  private func coverEnds(_ store: isolated FeedStore) {
    for end in batch.ends where positions.reachEnd(end.topicPartition, end.offset) { cover(end, store) }
  }

  /// Has an offset committed behind which no record was taken.
  func cover(_ position: TopicPartitionOffset, _ store: isolated FeedStore) {
    store.cover(
      topic: Array(position.topic.utf8),
      partition: position.partition,
      upTo: position.offset,
      at: MonotonicClock.milliseconds()
    )
  }

  /// Records came that had come before: the reading is not where it should be. Taken as they are, some would be
  /// rejected or deleted a second time.
  private func readAgain(_ store: isolated FeedStore, _ partition: TopicPartition) throws(DaemonError) {
    log.write(.inputRepeated, "input was delivered twice; rereading it", ["partition": partition])
    if store.isPublicationDue { store.rollBack() }
    try rewind(store)
  }

  /// Looks at what a poll brought besides records.
  func handleEvents(of batch: KafkaBatch) throws(DaemonError) {
    if let callbackFailure { throw callbackFailure }
    for case .error(let error) in batch.events {
      if error.isFatal { throw DaemonError(error) }
      if error.kind == .autoOffsetReset {
        throw DaemonError(
          .lostInput,
          "input is lost while it is read: \(error); start feedstore again to be told exactly what is missing"
        )
      }
      if error.kind.isRefusal { throw .cannot("read", error) }
      if error.isRetriable {
        log.write(.inputRetrying, "transient Kafka error; retrying", ["error": error])
      } else {
        log.write(.inputError, "Kafka error", ["error": error])
      }
    }
  }

  /// Publishes what waits, leaves the group, and closes everything within the time that is given for it.
  private func finish(_ store: isolated FeedStore) throws -> DaemonReport {
    log.write(.shutdownStopping, "stopping; publishing pending changes")
    try flush(store)
    let report = DaemonReport(
      counters: earlierCounters.adding(store.counters),
      feeds: feedsAtEnd ?? store.summaries()
    )
    close()
    return report
  }

  /// What happens to the input partitions; called inside a poll, or while the consumer is closed.
  private func rebalance(_ event: RebalanceEvent, _ store: isolated FeedStore) {
    isInRebalance = true
    defer { isInRebalance = false }
    switch event {
    case .assigned(let partitions):
      log.write(.groupAssigned, "partitions assigned", ["partitions": Self.list(partitions)])
      assigned = partitions
      noteShare()
      environment.status.assigned(partitions, to: identity.number)
      environment.backlog?.assign(partitions, to: identity.number)
      do {
        try beginRestoring(partitions)
      } catch {
        callbackFailure = DaemonError(error)
      }
      onEvent(.assigned(partitions: partitions.count))
    case .revoking(let partitions):
      status.update { $0.rebalances[.revoked, default: 0] += 1 }
      do {
        try flush(store)
      } catch {
        callbackFailure = error
      }
      release(store, partitions, .groupRevoked)
    case .lost(let partitions):
      status.update { $0.rebalances[.lost, default: 0] += 1 }
      // Somebody else may have them already: what waits would not be accepted.
      do {
        try withdraw(store)
      } catch {
        callbackFailure = error
      }
      release(store, partitions, .groupLost)
    }
  }

  /// Drops the state of partitions that are no longer ours.
  private func release(_ store: isolated FeedStore, _ partitions: [TopicPartition], _ event: LogEvent) {
    log.write(
      event,
      event == .groupLost ? "partitions lost" : "partitions revoked",
      ["partitions": Self.list(partitions)]
    )
    dropState(store)
    assigned = []
    rejoinTime = nil
    pausedMeanwhile = []
    environment.status.released(identity.number)
    onEvent(.released)
  }

  /// Has the store replaced, and forgets everything that belongs to it.
  func dropState(_ store: isolated FeedStore) {
    if !isReleased {
      earlierCounters = earlierCounters.adding(store.counters)
      // Another worker, asked to stop as well, was the first to leave the group.
      if stop.isRequested { feedsAtEnd = store.summaries() }
    }
    batch.taken.discard()
    positions.removeAll()
    dropRestoration()
    isReleased = true
  }

  private static func list(_ partitions: [TopicPartition]) -> String {
    partitions.isEmpty ? "none" : partitions.map { "\($0.topic)/\($0.partition)" }.joined(separator: ",")
  }

  /// Tells the store whether the input is behind, after a poll that may have waited.
  private func noteBacklog(of store: isolated FeedStore) {
    let now = MonotonicClock.milliseconds()
    guard backlog.isBehind || batch.count >= Self.manyRecords || now >= nextBacklogTime else { return }
    nextBacklogTime = now + Self.backlogMilliseconds
    let unread = unread
    backlog.poll(isEmpty: batch.isEmpty, unread: unread.count)
    store.noteBacklog(backlog.isBehind)
    if backlog.isBehind { keepFetching(unread.partitions) } else { mostFetched = 0 }
    if memoryReturn.isDue(isBehind: backlog.isBehind, at: now) { FreedMemory.giveBack() }
  }

  /// How many records no poll has brought yet, as far as the brokers have told, and of which partitions.
  private var unread: (count: Int64, partitions: [TopicPartition]) {
    var count: Int64 = 0
    var partitions: [TopicPartition] = []
    for (partition, offset) in positions.read {
      guard let end = consumer.knownEnd(of: partition), end > offset else { continue }
      count += end - offset
      partitions.append(partition)
    }
    return (count, partitions)
  }

  /// Has fetching go on as soon as the queue of fetched records is half empty, and not a second later.
  private func keepFetching(_ partitions: [TopicPartition]) {
    if KafkaSettings.noticesRoom || partitions.isEmpty { return }
    let fetched = consumer.fetchedCount
    mostFetched = max(mostFetched, fetched)
    guard fetched < mostFetched / 2 else { return }
    consumer.wakeFetcher(of: CollectionOfOne(partitions[wakeCount % partitions.count]))
    wakeCount += 1
  }

  /// Tells, once a second, how many input records are not published yet, as far as the brokers have told.
  private func noteLag() {
    let now = MonotonicClock.milliseconds()
    guard now >= nextLagTime else { return }
    nextLagTime = now + Self.lagMilliseconds
    var lag: [TopicPartition: Int64] = [:]
    for position in positions.resume {
      guard let end = consumer.knownEnd(of: position.topicPartition) else { continue }
      lag[position.topicPartition] = max(0, end - position.offset)
    }
    environment.status.lags(lag, of: identity.number)
    // What it tells of itself would wait in its queue as long as nothing is published.
    _ = try? producer.poll(timeoutMilliseconds: 0)
  }

  /// Leaves the group and closes the clients; what takes too long goes on in the background or is left.
  private func close() {
    do {
      try consumer.close(timeoutMilliseconds: closeTime)
    } catch {
      log.write(.groupLeaveFailed, "could not leave the group", ["error": error])
    }
    do {
      try producer.close(timeoutMilliseconds: closeTime)
    } catch {
      log.write(.transactionProducerAbandoned, "the producer did not close in time", ["error": error])
    }
  }

  private var closeTime: Int32 {
    guard let deadline = stop.deadline else { return Self.closeMilliseconds }
    return Int32(clamping: max(100, deadline - MonotonicClock.milliseconds()))
  }
}
