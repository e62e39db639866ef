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

/// Reads its share of the input, keeps its feeds, and publishes their changes: one consumer, one
/// transactional producer, one store, on one thread.
///
/// It is a shell: ``WorkerMachine`` decides the actions, and the worker performs them and returns the results
/// (``Worker/perform(_:_:)``). ``Restoration`` decides how feeds are restored, and ``TopicLayout``
/// checks whether the topics fit together.
///
/// While it works, it runs *inside* the store's isolation, which it enters once.
///
/// Unchecked: it is created and used on the worker's thread only.
package final class Worker: @unchecked Sendable {
  let options: FeedStoreOptions
  private let configuration: FeedStoreConfiguration
  let settings: KafkaSettings
  let identity: WorkerIdentity
  let environment: WorkerEnvironment
  /// Receives the worker's state.
  let status: WorkerStatus
  let member: InputReader
  /// Decides its actions, and holds the state of its partitions, transactions and rebalances.
  var machine = WorkerMachine()

  let calls: TransactionCaller
  let publisher: Publisher
  let restorer: Restorer

  /// The number of logged fields, and the number of occurrences in the last report.
  var ignoredFields = (logged: 0, count: 0)

  /// The final report, complete after the worker has ended.
  var report = DaemonReport()

  /// When to report the lag next, in milliseconds of the monotonic clock.
  var nextLag: Int64 = 0
  /// When to log again that changed contents take long.
  var nextContentsReminder: Int64 = 0
  /// When to commit unchanged offsets again.
  var nextOffsetRefresh: Int64

  var stop: StopRequest { environment.stop }
  var log: Log { environment.log }
  var consumer: any GroupConsumer { member.consumer }
  var batch: KafkaBatch { member.batch }
  func onEvent(_ event: DaemonEvent) { environment.onEvent(event) }

  var backlog: Backlog

  private static let closeMilliseconds: Int32 = 5_000
  private static let contentsSliceMilliseconds: Int64 = 20

  /// - Parameter identity: the worker's ids for the producer and the group.
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
    self.configuration = configuration
    backlog = Backlog(maxRecords: options.coalescing.maxRecords)
    var consuming = settings.member(identity, url: configuration.http.feedsURL)
    // Otherwise the consumer would silently skip input that is deleted during reading.
    if configuration.lostInput == .fail { consuming["auto.offset.reset"] = "error" }
    member = try InputReader(consuming, settings, environment, status)
    calls = try TransactionCaller(identity, settings, environment, reportsEnds: true)
    publisher = Publisher(identity, settings, environment, calls)
    restorer = Restorer(options, configuration.lostInput, settings, identity, environment, member, publisher)
    nextOffsetRefresh = environment.clients.milliseconds() + Self.offsetRefreshMilliseconds
  }

  /// The group assigns one of the input topics, and the same partitions of the others follow. So one worker
  /// always has all partitions of one number.
  func join() throws(KafkaError) {
    try consumer.subscribe([options.topics.inputs[0]], companions: Array(options.topics.inputs.dropFirst()))
    status.update { $0.phase = .joining }
  }

  /// Joins the group and works until it is asked to stop.
  ///
  /// - Returns: the counters, and the feeds at the end.
  /// - Throws: ``DaemonError`` that names the cause and the remedy.
  package func run() async throws -> DaemonReport {
    try await run(
      with: FeedStore(
        options: options,
        budget: environment.stateBudget,
        contents: environment.contents?.table ?? ContentTable(),
        followsContents: environment.contents != nil
      )
    )
  }

  /// The same, with a store that is empty.
  func run(with store: isolated FeedStore) throws -> DaemonReport {
    store.notesUnchanged = environment.status.writes.isOn
    do {
      var action = WorkerMachine.firstAction
      while action != .end {
        let event = try perform(action, store)
        action = machine.handle(event, at: environment.milliseconds())
      }
      return report
    } catch {
      // The pending changes cannot be published any more.
      publisher.rollBack(store)
      close()
      throw (error as? KafkaError).map { DaemonError($0) } ?? error
    }
  }

  /// Logs ids that several of the worker's partitions share. If feeds are served, their follower logs them,
  /// because it sees the partitions of all workers.
  func logSharedIDs(_ store: isolated FeedStore) {
    let http = configuration.http
    for message in store.takeSharedIDs() where !http.isEnabled || !http.servesFeeds {
      log.write(.inputFeedInSeveralPartitions, message)
    }
  }

  /// Leaves the group and closes the clients, which may continue to close in the background.
  func close() {
    member.close(timeoutMilliseconds: closeTime)
    calls.close(timeoutMilliseconds: closeTime)
  }

  var closeTime: Int32 {
    guard let deadline = stop.deadline else { return Self.closeMilliseconds }
    return Int32(clamping: max(100, deadline - environment.milliseconds()))
  }
}

extension Worker {
  /// Performs an action of the machine.
  ///
  /// - Returns: the action's result.
  /// - Throws: ``DaemonError`` or `KafkaError`, if the worker cannot continue.
  func perform(_ action: WorkerAction, _ store: isolated FeedStore) throws -> WorkerEvent {
    switch action {
    case .findTopics: return try findTopics()
    case .join: try join()
    case .rejoin: try rejoin()
    case .replaceConsumer: try replaceConsumer()
    case .close:
      report = DaemonReport(counters: store.counters, feeds: store.summaries())
      close()
    case .end: preconditionFailure("the worker has ended")
    case .fail(let error):
      status.ended(.refused)
      calls.logUndelivered()
      throw DaemonError.cannot("publish", error)

    case .apply: return .applied(try applySlice(to: store))
    case .look:
      if let contents = environment.contents {
        let end = min(member.schedule.dueTime, environment.coarseClock() + Self.contentsSliceMilliseconds)
        try contents.readArrived { environment.coarseClock() < end }
      }
      return look(store)
    case .poll(let timeout):
      // Neither items that end nor changed contents wait for input.
      let now = environment.milliseconds()
      let pause = min(
        store.nextEnd &- max(0, environment.wallClock()),
        store.nextContents(at: now).map { $0 - now } ?? .max
      )
      return try takeInput(timeoutMilliseconds: Int32(max(0, min(Int64(timeout), pause))))
    case .pollWithoutInput(let timeout): return try pollWithoutInput(timeoutMilliseconds: timeout)
    case .checkSchedule: return .schedule(isPollDue: member.isPollDue)
    case .serveGroup(let inputs): return try serveGroup(pausing: inputs)
    case .resumeInput(let inputs): return .resumed(resumeInput(inputs))
    case .rewind(let positions): return .sought(isDone: rewind(to: positions))

    case .restore:
      let isServing = !machine.positions.read.isEmpty
      let starts = try restorer.step(store, isServing: isServing)
      for start in starts { store.serve(partition: start.partition) }
      if !starts.isEmpty {
        environment.status.writes.begin(at: starts)
        logSharedIDs(store)
      }
      return .restored(starts)
    case .restoreAgain(let dropped, let restored):
      try restoreAgain(store, dropping: dropped, restoring: restored)

    case .prepareProducer(let step): return prepareProducer(step)
    case .beginFlush: publisher.beginFlush(store)
    case .call(let step, let limit):
      let outcome = publisher.call(
        step,
        store,
        machine,
        consumer,
        forgotten: restorer.forgotten,
        until: limit
      )
      return .called(outcome, stopDeadline: stop.deadline)
    case .wait(let milliseconds): try calls.wait(milliseconds)
    case .confirm(let isWhole, let milliseconds):
      return confirm(store, isWhole: isWhole, milliseconds: milliseconds)
    case .withdraw:
      publisher.rollBack(store)
      calls.withdraw(machine.transactions)
      onEvent(.withdrawn)
    case .lose(let wait):
      publisher.rollBack(store)
      calls.lose(machine.transactions, waitMilliseconds: wait)
      onEvent(.recovering)
    case .rollBack(let repeated): return .rolledBack(wasPending: rollBack(store, repeated: repeated))

    case .checkPending(let partitions):
      return .pending(partitions.contains { store.isPublicationDue(of: $0) })
    case .complete(let rebalance): try consumer.complete(rebalance)
    case .take(let partitions, let isSettled): try take(partitions, isSettled: isSettled)
    case .giveUp(let partitions, let inputs, let isLost):
      try giveUp(partitions, inputs, isLost: isLost, store)
    case .readOn(let positions): return .sought(isDone: readOn(at: positions))
    }
    return .done
  }

  /// Waits for the brokers, and checks that the topics fit together.
  private func findTopics() throws -> WorkerEvent {
    let wait = configuration.startupTimeoutMilliseconds
    guard let metadata = try member.findTopics(options.topics.distinct, waitMilliseconds: wait) else {
      return .topicsChecked(isStopping: true)
    }
    publisher.setTopics(options, try TopicLayout(options.topics, metadata))
    environment.status.found(TopicChanges(options.topics, metadata))
    log.write(.groupJoining, "joining the group", ["topics": options.topics.inputs.joined(separator: ",")])
    return .topicsChecked(isStopping: false)
  }

  private func rejoin() throws(KafkaError) {
    log.write(.groupRejoining, "rejoining the group; a broker may not have known all topics")
    // Subscribing to the same topics again would not make the member rejoin.
    try consumer.unsubscribe()
    try join()
  }

  private func prepareProducer(_ step: TransactionMachine.Step) -> WorkerEvent {
    let outcome = calls.prepare(step, machine.transactions)
    if case .failed(let error) = outcome {
      let mayPass = error.isRetriable && !error.isFatal
      log.write(
        mayPass ? .transactionWaitingForCoordinator : .transactionProducerRefused,
        mayPass ? "waiting for the transaction coordinator" : "could not register the producer",
        ["error": error]
      )
    }
    return .called(outcome, stopDeadline: stop.deadline)
  }
}
