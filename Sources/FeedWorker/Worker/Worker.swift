import Feed
package import FeedConfiguration
package import FeedKafka
import FeedStore
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
  /// Whether it reports ids that several of its partitions have. If feeds are served, their follower does, which sees the
  /// partitions of all workers.
  private let reportsSharedIDs: Bool
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
  /// The producer's, and that of each which takes its place.
  let transactionalID: String
  var failures = TransactionFailures()
  var writer: PublicationWriter?
  /// The flush in progress, from ``WorkerAction/beginFlush`` until it is published or withdrawn.
  var flush: Flush?

  // What restores: Worker+Restore.swift.
  var restoration = Restoration()
  var progress = RestoreProgress(now: 0)
  /// What the restoration reads with; nil when there is none under way.
  var changesets: (any RestoredChangesets)?
  /// The partition of which the store takes over feeds; nil when there is none.
  var takingOver: ChangesetPartition?
  /// Inputs whose offsets have begun again, and up to where feeds may still say that they have taken records of before.
  var forgotten: [TopicPartition: Int64] = [:]
  /// Whether older offsets have come than were read, which may be because a topic was created again.
  var mayHaveRestarted = false
  /// What came of the present step, apart from what `restoration` was told.
  var restoreResult = WorkerEvent.RestoreResult()
  /// How often in a row that step has failed.
  var restoreFailures = 0
  /// Since when nothing has come of what is read; nil if something has.
  var restoreQuietSince: Int64?
  let abandoned: AbandonedTransactions
  /// When to look for abandoned transactions again, at the earliest.
  var nextAbandonedLook: Int64 = 0
  /// Since when restoring fails by an error that may pass or not; nil if the last step did not.
  var doubtfulSince: Int64?
  /// When to say again which partitions are stopped, in milliseconds of the monotonic clock.
  var nextReminder: Int64 = 0

  /// How many of the ignored fields were logged, and how often they occurred when that was reported.
  var ignoredFields = (logged: 0, count: 0)

  /// What was done; made when the worker ends.
  var report = DaemonReport()

  /// When offsets are committed once more that have not changed, in milliseconds of the monotonic clock.
  var nextOffsetRefresh: Int64

  var stop: StopRequest { environment.stop }
  var log: Log { environment.log }
  var clock: any WorkerClients { environment.clients }
  func onEvent(_ event: DaemonEvent) { environment.onEvent(event) }

  /// When to look next how far behind the worker is, in milliseconds of the monotonic clock.
  var nextLagTime: Int64 = 0

  var backlog: BacklogWatch

  static let batchCapacity = 10_000
  private static let metadataMilliseconds: Int32 = 1_000
  private static let closeMilliseconds: Int32 = 5_000

  /// - Parameter identity: what the producer and the group know the worker by.
  package init(
    _ identity: WorkerIdentity,
    _ configuration: FeedStoreConfiguration,
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
    reportsSharedIDs = !configuration.http.isEnabled || !configuration.http.servesFeeds
    startupTimeoutMilliseconds = configuration.startupTimeoutMilliseconds
    backlog = BacklogWatch(maxRecords: options.coalescing.maxRecords)
    var member = settings.member(identity, url: configuration.http.feedsURL)
    // Input that goes while it is read would be passed over without a word.
    if lostInput == .fail { member["auto.offset.reset"] = "error" }
    memberSettings = member
    consumer = try environment.clients.makeConsumer(member, log: environment.log)
    let producing = settings.transactionalProducer(identity, slowInARow: 0)
    producer = try environment.clients.makeProducer(producing, log: environment.log)
    transactionalID = settings.transactionalID(of: identity)
    abandoned = AbandonedTransactions(environment.clients, settings, identity, environment.log)
    machine = WorkerMachine(transactionMilliseconds: settings.transactionMilliseconds(slowInARow: 0))
    batch = consumer.makeInput(capacity: Self.batchCapacity, clock: environment.coarseClock)
    idleBatch = consumer.makeInput(capacity: 1, clock: environment.coarseClock)
    pollSchedule = PollSchedule(maxPollMilliseconds: settings.maxPollMilliseconds)
    nextOffsetRefresh = environment.clients.milliseconds() + Self.offsetRefreshMilliseconds
    reportStatistics()
  }

  /// The group assigns one of the input topics, and the same partitions of the others go along, so that those of one number are
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
      endFlush(store)
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
        let layout = try TopicLayout(options.topics, metadata)
        environment.status.found(TopicChanges(options.topics, metadata))
        return layout
      } catch let error as KafkaError where error.isRetriable && !error.isFatal {
        // What refuses the connection is told by the client.
        if !error.isConnectionFault {
          log.write(.startupWaitingForBrokers, "waiting for brokers", ["error": error])
        }
      }
    }
    return nil
  }

  /// Reports ids that several partitions have.
  func tellSharedIDs(_ store: isolated FeedStore) {
    for message in store.takeSharedIDs() where reportsSharedIDs {
      log.write(.inputFeedInSeveralPartitions, message)
    }
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
