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
/// It is a shell: ``WorkerMachine`` says what to do, and the worker does it and tells the machine what came of it
/// (``Worker/perform(_:_:)``). How feeds are restored ``Restoration`` says, and whether the topics fit ``TopicLayout``.
///
/// While it works, it runs *inside* the store's isolation, which is entered once.
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
  /// What the member of the group is configured with.
  let memberSettings: KafkaConfiguration
  var consumer: any GroupConsumer
  var batch: any PolledInput
  /// For polls in the midst of what takes long, when `batch` may hold records that are not applied.
  var idleBatch: any PolledInput
  /// When the next such poll is due.
  var pollSchedule: PollSchedule
  /// What it does, and what it knows of its partitions, transactions and rebalances.
  var machine: WorkerMachine

  // What publishes: Worker+Flush.swift, Worker+Producer.swift.
  /// How long the stages of a flush take.
  var flushClock = FlushClock()
  var producer: any TransactionClient
  var batchLimit = BatchLimit()
  /// What a call for a transaction failed with since the last commit.
  var lastFailure: KafkaError?
  /// What the producer that is to be replaced was lost for.
  var lossCause: KafkaError?
  var writer: PublicationWriter?
  /// The part of the flush that was handed out last; nil outside of a flush.
  var part: Publication?
  /// Records of the transaction that could not be delivered.
  var undelivered = DeliveryErrors()

  // What restores: Worker+Restore.swift.
  var restoration = Restoration()
  var progress = RestoreProgress(now: 0)
  /// What the restoration reads with; nil when there is none under way.
  var changesets: (any RestoredChangesets)?
  /// The partition of which the store takes over feeds; nil when there is none.
  var takingOver: ChangesetPartition?
  /// What came of the present step, apart from what `restoration` was told.
  var restoreResult = WorkerEvent.RestoreResult()
  /// How often in a row that step has failed.
  var restoreFailures = 0
  /// Since when restoring fails by an error that may pass or not; nil if the last step did not.
  var doubtfulSince: Int64?
  /// When to say again which partitions are stopped, in milliseconds of the monotonic clock.
  var nextReminder: Int64 = 0

  /// What was done; made when the worker ends.
  var report = DaemonReport()

  /// When offsets are committed once more that have not changed, in milliseconds of the monotonic clock.
  private var nextOffsetRefresh: Int64

  var stop: StopRequest { environment.stop }
  var log: Log { environment.log }
  var clock: any WorkerClients { environment.clients }
  func onEvent(_ event: DaemonEvent) { environment.onEvent(event) }

  /// When to look next how far behind the worker is, in milliseconds of the monotonic clock.
  private var nextLagTime: Int64 = 0

  /// When to look next whether the input is behind, in milliseconds of the monotonic clock.
  private var nextBacklogTime: Int64 = 0
  /// The most records that were seen waiting for a poll since the input fell behind.
  private var mostFetched = 0
  /// The number of wake-ups of the fetcher, so that each is for another partition than the one before.
  private var wakeCount = 0

  private var backlog: Backlog
  private var memoryReturn = MemoryReturn()

  private static let lagMilliseconds: Int64 = 1_000
  private static let backlogMilliseconds: Int64 = 10
  /// A poll that brings so many is a reason to look at once.
  private static let manyRecords = 1_000
  static let batchCapacity = 10_000
  /// Much less than the least `offsets.retention.minutes` that makes sense.
  private static let offsetRefreshMilliseconds: Int64 = 3_600_000
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
    memberSettings = member
    consumer = try environment.clients.makeConsumer(member, log: environment.log)
    let producing = settings.transactionalProducer(identity, slowInARow: 0)
    producer = try environment.clients.makeProducer(producing, log: environment.log)
    machine = WorkerMachine(transactionMilliseconds: settings.transactionMilliseconds(slowInARow: 0))
    batch = consumer.makeInput(capacity: Self.batchCapacity, clock: environment.coarseClock)
    idleBatch = consumer.makeInput(capacity: 1, clock: environment.coarseClock)
    pollSchedule = PollSchedule(maxPollMilliseconds: settings.maxPollMilliseconds)
    nextOffsetRefresh = environment.clients.milliseconds() + Self.offsetRefreshMilliseconds
    reportStatistics()
  }

  /// The group shares out one of the input topics, and partitions of the others go along, so that those of one number are
  /// always with one worker.
  func join() throws(KafkaError) {
    try consumer.subscribe(options.topics.inputs[0], companions: Array(options.topics.inputs.dropFirst()))
    status.update { $0.phase = .joining }
  }

  /// Joins the group and works until it is asked to stop.
  ///
  /// - Returns: what was done, and the feeds at the end.
  /// - Throws: ``DaemonError`` that names the cause and the remedy.
  package func run() async throws -> DaemonReport {
    try await run(with: FeedStore(options: options, budget: environment.stateBudget))
  }

  /// The same, with a store that is empty.
  func run(with store: isolated FeedStore) throws -> DaemonReport {
    do {
      var action = WorkerMachine.firstAction
      while action != .end {
        let event = try perform(action, store)
        action = machine.handle(event, at: clock.milliseconds())
      }
      return report
    } catch {
      // The pending changes can no longer be published.
      close()
      throw (error as? KafkaError).map { DaemonError($0) } ?? error
    }
  }

  /// Waits for the brokers, and checks that the topics fit together; nil if asked to stop meanwhile.
  func findTopics() throws -> TopicLayout? {
    var wait = TopicWait(milliseconds: startupTimeoutMilliseconds)
    while !stop.isRequested {
      status.turn()
      do {
        let metadata = try consumer.metadata(
          options.topics.distinct,
          timeoutMilliseconds: Self.metadataMilliseconds
        )
        let (missing, now) = (metadata.missing, clock.milliseconds())
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
    return nil
  }

  /// Polls for input, to be applied next.
  func takeInput(_ store: isolated FeedStore, timeoutMilliseconds: Int32) throws -> WorkerEvent {
    let rebalance = try poll(timeoutMilliseconds: timeoutMilliseconds)
    let repeated = batch.note(in: &machine.positions)
    environment.backlog?.read(machine.positions.read, by: identity.number)
    noteBacklog(of: store)
    if let repeated {
      log.write(.inputRepeated, "input was delivered twice; rereading it", ["partition": repeated])
    } else if !batch.isEmpty {
      onEvent(.received(records: batch.count))
    }
    return .polled(rebalance, isRepeated: repeated != nil)
  }

  private func poll(timeoutMilliseconds: Int32) throws -> Rebalance? {
    try batch.poll(timeoutMilliseconds: timeoutMilliseconds)
    pollSchedule.poll(at: environment.coarseClock())
    try handleEvents(of: batch)
    return batch.rebalance
  }

  /// For the group's sake, and to hear of a rebalance. The input is paused; what comes all the same is read
  /// again from where the reading begins.
  func pollWithoutInput(timeoutMilliseconds: Int32) throws -> WorkerEvent {
    let rebalance = try poll(timeoutMilliseconds: timeoutMilliseconds)
    batch.discard()
    return .polled(rebalance, isRepeated: false)
  }

  /// Applies what was polled, until the group has to be polled again.
  func applySlice(to store: isolated FeedStore) throws -> WorkerEvent.Applied {
    batch.beginSlice(until: pollSchedule.dueTime)
    if try store.apply(batch, time: .clock(clock.milliseconds())) == .flushDue { return .untilFlush }
    return batch.isUnfinished ? .slice : .everything
  }

  /// Does what is due by time, when everything that was polled is applied.
  func look(_ store: isolated FeedStore) -> WorkerEvent {
    coverEnds(store)
    status.turn(waitingRecords: batch.taken.records)
    if backlog.isBehind {
      backlog.apply(unread: unread.count)
      store.noteBacklog(backlog.isBehind)
    }
    noteLag()
    remindOfStoppedPartitions()
    refreshOffsets(store)
    assert(
      Set(machine.partitions.inputs(.restoring).map(\.partition)) == restoration.underWay,
      "the machine and the restoration disagree"
    )
    return .looked(deadline: store.deadline, isStopping: stop.isRequested)
  }

  /// Has the offsets committed of what ends transactions at the end of the input. Otherwise there would always be
  /// something unread, and when it is deleted like records, it would be missed like records.
  private func coverEnds(_ store: isolated FeedStore) {
    for end in batch.ends where machine.positions.reachEnd(end.topicPartition, end.offset) {
      cover(end, store)
    }
  }

  /// Has offsets committed once more now and then that have not changed: brokers forget those of topics that the group does
  /// not share out, and of a group's that nobody reads.
  private func refreshOffsets(_ store: isolated FeedStore) {
    let now = clock.milliseconds()
    guard now >= nextOffsetRefresh, !store.isPublicationDue, machine.transactions.isReady else { return }
    nextOffsetRefresh = now + Self.offsetRefreshMilliseconds
    for position in machine.positions.resume { cover(position, store) }
  }

  /// Has an offset committed behind which no record was taken.
  func cover(_ position: TopicPartitionOffset, _ store: isolated FeedStore) {
    store.cover(
      topic: Array(position.topic.utf8),
      partition: position.partition,
      upTo: position.offset,
      at: clock.milliseconds()
    )
  }

  /// Looks at what a poll brought besides records.
  func handleEvents(of batch: any PolledInput) throws(DaemonError) {
    for case .error(let error) in batch.events {
      if error.isFatal { throw DaemonError(error) }
      if error.kind == .autoOffsetReset {
        throw DaemonError(
          .lostInput,
          "input is lost while it is read: \(error); start feedstore again to be told exactly what is missing"
        )
      }
      if error.kind == .inconsistentGroupProtocol {
        // It takes this member in when the last of the others has left.
        log.write(
          .groupProtocolMismatch,
          "the group has members of an earlier build, which assign partitions differently; waiting until all of them are stopped",
          ["group": settings.groupID, "error": error]
        )
        continue
      }
      if error.kind.isRefusal { throw .cannot("read", error) }
      if error.isRetriable {
        log.write(.inputRetrying, "transient Kafka error; retrying", ["error": error])
      } else {
        log.write(.inputError, "Kafka error", ["error": error])
      }
    }
  }

  /// Tells the store whether the input is behind, after a poll that may have waited.
  private func noteBacklog(of store: isolated FeedStore) {
    let now = clock.milliseconds()
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
    for (partition, offset) in machine.positions.read {
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
    consumer.wakeFetcher(of: partitions[wakeCount % partitions.count])
    wakeCount += 1
  }

  /// Tells, once a second, how many input records are not published yet, as far as the brokers have told.
  private func noteLag() {
    let now = clock.milliseconds()
    guard now >= nextLagTime else { return }
    nextLagTime = now + Self.lagMilliseconds
    var lag: [TopicPartition: Int64] = [:]
    for position in machine.positions.resume {
      guard let end = consumer.knownEnd(of: position.topicPartition) else { continue }
      lag[position.topicPartition] = max(0, end - position.offset)
    }
    environment.status.lags(lag, of: identity.number)
    // What it tells of itself would wait in its queue as long as nothing is published.
    _ = try? producer.poll(timeoutMilliseconds: 0)
  }

  /// Leaves the group and closes the clients; what takes too long goes on in the background or is left.
  func close() {
    close(consumer)
    do {
      try producer.close(timeoutMilliseconds: closeTime)
    } catch {
      log.write(.transactionProducerAbandoned, "the producer did not close in time", ["error": error])
    }
  }

  func close(_ consumer: any GroupConsumer) {
    do {
      try consumer.close(timeoutMilliseconds: closeTime)
    } catch {
      log.write(.groupLeaveFailed, "could not leave the group", ["error": error])
    }
  }

  private var closeTime: Int32 {
    guard let deadline = stop.deadline else { return Self.closeMilliseconds }
    return Int32(clamping: max(100, deadline - clock.milliseconds()))
  }
}
