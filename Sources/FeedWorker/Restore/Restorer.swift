import Changesets
import Diagnostics
import Feed
import FeedConfiguration
import FeedKafka
import FeedStatus
import FeedStore
import FeedTransactions
import Kafka
import OperatingSystem

/// Restores the feeds of assigned partitions by the steps of ``Restoration``; exchanges partitions with the standby.
///
/// It belongs to the worker's thread.
final class Restorer {
  private let options: FeedStoreOptions
  private let lostInput: LostInputPolicy
  private let settings: KafkaSettings
  private let worker: Int
  private let environment: WorkerEnvironment
  private let status: WorkerStatus
  private let member: InputReader
  private let publisher: Publisher
  private let abandoned: AbandonedTransactions

  private var restoration = Restoration()
  private var progress = RestoreProgress(now: 0)
  /// Nil if nothing is restored.
  private var source: (RestoreReader)?
  /// The partition whose feeds the store is taking over; nil if there is none.
  private var takingOver: ReadPartition?
  /// Input partitions whose offsets have started over, with the greatest offset that feeds may still name as taken.
  private(set) var forgotten: [TopicPartition: Int64] = [:]
  /// The ends of the contents topic that have to be read before partitions are served; nil if they are not known yet.
  private var contentsEnds: [Int32: Int64]?
  /// The number of records before them that were left at the last log line.
  private var contentsLeft: Int64?
  /// Whether input was delivered twice, possibly because its topic was recreated.
  private var mayHaveRestarted = false
  /// The time of the next step, after a failed one.
  private var pauseEnd: Int64 = 0
  /// Whether other partitions are served during the current step. They must not be delayed for long.
  private var isServing = false
  private var failuresInARow = 0
  /// The time since which nothing was read; nil if the last read had records.
  private var quietSince: Int64?
  /// The earliest time of the next search for abandoned transactions.
  private var nextAbandonedLook: Int64 = 0
  /// The time since which steps fail with an error that may be temporary; nil if the last one did not.
  private var doubtfulSince: Int64?
  /// The time of the next log line about stopped partitions, in milliseconds of the monotonic clock.
  private var nextReminder: Int64 = 0

  private static let pauseMilliseconds: Int64 = 100
  private static let sliceMilliseconds: Int64 = 50
  /// The time after which an error that may be temporary counts as permanent.
  private static let doubtMilliseconds: Int64 = 30_000
  /// The maximum time for which a broker reports an old end of a partition that it no longer leads.
  private static let staleMilliseconds: Int64 = 10_000
  private static let reminderMilliseconds: Int64 = 60_000
  /// The time without records after which a search for abandoned transactions begins.
  private static let quietMilliseconds: Int64 = 200
  private static let lookMilliseconds: Int64 = 500
  private static let lookTimeoutMilliseconds: Int32 = 150

  init(
    _ options: FeedStoreOptions,
    _ lostInput: LostInputPolicy,
    _ settings: KafkaSettings,
    _ identity: WorkerIdentity,
    _ environment: WorkerEnvironment,
    _ member: InputReader,
    _ publisher: Publisher
  ) {
    self.options = options
    self.lostInput = lostInput
    self.settings = settings
    self.environment = environment
    self.member = member
    self.publisher = publisher
    worker = identity.number
    status = environment.status.worker(worker)
    abandoned = AbandonedTransactions(environment.clients, settings, identity, environment.log)
  }

  private var log: Log { environment.log }
  private var now: Int64 { environment.clients.milliseconds() }

  var isRestoring: Bool { restoration.isUnderWay }
  /// The time of the next step; nil if nothing is being restored.
  var nextStep: Int64? { isRestoring ? pauseEnd : nil }

  // MARK: Partitions

  /// Starts restoring partitions, whose input is paused.
  func begin(_ partitions: [TopicPartition]) {
    for partition in partitions { forgotten[partition] = nil }
    contentsEnds = nil
    if !isRestoring { progress = RestoreProgress(now: now) }
    restoration.assign(partitions)
    pauseEnd = 0
  }

  /// Forgets partitions and their restored feeds.
  func drop(_ partitions: Set<Int32>) throws(KafkaError) {
    restoration.release(partitions)
    if let takingOver, partitions.contains(takingOver.number) { self.takingOver = nil }
    try source?.drop(partitions)
    closeSource()
  }

  private func closeSource() {
    if isRestoring { return }
    source = nil
    quietSince = nil
    abandoned.forget()
  }

  /// Passes revoked partitions to the standby, in their published state.
  ///
  /// - Parameter isConfirmed: whether no other member can have written to them yet. No changes may be
  ///   pending.
  func leave(
    _ numbers: Set<Int32>,
    isConfirmed: Bool,
    _ store: isolated FeedStore
  ) throws(KafkaError) {
    guard let standby = environment.standby else { return }
    for number in numbers {
      // No other reference exists.
      nonisolated(unsafe) var partition: ReadPartition?
      if standby.needsState(of: number) {
        let state = restoration.state(of: number)
        if case .reading? = state, takingOver?.number != number {
          partition = try source?.close(number)
        } else if isConfirmed, state == nil, restoration.stopped[number] == nil,
          let end = publisher.end(of: number), let feeds = store.takeOut(partition: number)
        {
          partition = ReadPartition(
            options.topics.changesets,
            number,
            continuing: feeds.replicas,
            from: end
          )
        }
      }
      standby.giveBack(number, partition)
    }
  }

  // MARK: Steps

  /// Executes the next step. The worker must poll the group between two steps.
  ///
  /// - Parameter isServing: whether other partitions are served.
  /// - Returns: the starts of the inputs of newly restored partitions.
  /// - Throws: ``DaemonError`` if an operator has to act.
  func step(_ store: isolated FeedStore, isServing: Bool) throws -> [TopicPartitionOffset] {
    self.isServing = isServing
    var starts: [TopicPartitionOffset] = []
    do {
      starts = try take(restoration.step, store)
      closeSource()
      failuresInARow = 0
      doubtfulSince = nil
    } catch let error as KafkaError {
      guard mayPass(error) else { throw explained(error) }
      pause(.restoreRetrying, "transient Kafka error; retrying", ["error": error])
    } catch let stale as StaleEnd {
      pause(
        .restoreStaleEnd,
        "a broker reports an end before the committed offset; asking again",
        ["partition": stale.partition]
      )
    }
    return starts
  }

  private func take(_ step: Restoration.Step, _ store: isolated FeedStore) throws -> [TopicPartitionOffset] {
    switch step {
    case .nothing: break
    case .requestOffsets(let inputs): try requestOffsets(inputs)
    case .requestInputEnds(let input):
      let ends = try ends(of: input, timeoutMilliseconds: timeout)
      if restoration.isCommittedBeyond(ends), noteDoubt(Self.staleMilliseconds) {
        throw StaleEnd(partition: input)
      }
      try restoration.setInputEnds(ends, lostInput).log(log)
    case .requestEnd(let partition): try requestEnd(of: partition)
    case .open(let partitions):
      try openedSource().open(partitions)
      restoration.open()
    case .read: try read()
    case .takeOver(let partition): try takeOver(partition, store)
    case .resume(let starts):
      guard try readContents(for: starts) else { return [] }
      try resume(at: starts, store)
      return starts.map(\.position)
    }
    return []
  }

  // MARK: Errors

  /// A broker has reported an end of a partition before the committed offset: either the broker no longer leads the
  /// partition, or records were lost.
  private struct StaleEnd: Error {
    let partition: TopicPartition
  }

  /// Delays the next attempt of a failed step, and sometimes logs the reason.
  private func pause(_ event: LogEvent, _ reason: String, _ fields: LogFields) {
    let now = now
    pauseEnd = now + Self.pauseMilliseconds
    failuresInARow += 1
    if progress.isWaiting(at: now) != nil { log.write(event, reason, fields) }
  }

  /// Whether a step that failed may succeed later.
  private func mayPass(_ error: KafkaError) -> Bool {
    if error.isFatal { return false }
    if error.isRetriable { return true }
    switch error.kind {
    // librdkafka cannot seek in a partition that it has not begun to read.
    case .state: return true
    // The topics existed when the worker started: this broker may not know them yet, or reports an error without a code.
    // Such errors are temporary, or permanent after some time. A broker that starts or stops may cause them, too.
    case .unknownTopicOrPartition, .unknown, .tls, .authentication: return noteDoubt(Self.doubtMilliseconds)
    default: return false
    }
  }

  /// Records a failure that may be temporary; returns whether such failures began less than this long ago.
  private func noteDoubt(_ milliseconds: Int64) -> Bool { Self.duration(&doubtfulSince, now) < milliseconds }

  /// The duration of something that begins now, unless it has begun before.
  private static func duration(_ start: inout Int64?, _ now: Int64) -> Int64 {
    let since = start ?? now
    start = since
    return now - since
  }

  /// The error, or a description of the topics' change if an assigned partition does not exist.
  private func explained(_ error: KafkaError) -> DaemonError {
    guard [.unknownPartition, .unknownTopic, .unknownTopicOrPartition].contains(error.kind) else {
      return DaemonError(error)
    }
    do {
      let metadata = try member.consumer.metadata(
        options.topics.distinct,
        timeoutMilliseconds: timeout
      )
      _ = try TopicLayout(options.topics, metadata)
    } catch let problem as DaemonError {
      return problem
    } catch {}
    return DaemonError(error)
  }

  // MARK: Requests

  /// The timeout of a request, which blocks the worker.
  private var timeout: Int32 {
    min(
      RestoreTimeout.milliseconds(afterFailures: failuresInARow, isServing: isServing),
      member.schedule.longestCall
    )
  }

  private func openedSource() throws(KafkaError) -> RestoreReader {
    if let source { return source }
    let opened = try environment.clients.makeChangesets(settings, topic: options.topics.changesets, log: log)
    source = opened
    return opened
  }

  /// The ends of a partition of any topic, including open and aborted transactions.
  func ends(of partition: TopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> Watermarks {
    try openedSource().ends(of: partition, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Input was delivered twice, perhaps because its topic was recreated.
  func noteRepeatedInput() { mayHaveRestarted = lostInput == .continue }

  /// Whether a topic was recreated, so that it ends before one of these offsets and cannot be read from there.
  func hasRestarted(_ positions: [TopicPartitionOffset]) throws(KafkaError) -> Bool {
    guard mayHaveRestarted else { return false }
    mayHaveRestarted = false
    defer { closeSource() }
    for position in positions {
      let input = position.topicPartition
      let ends = try ends(of: input, timeoutMilliseconds: TransactionCaller.callMilliseconds)
      if case .restarted = InputStart.finding(input, position.offset, ends) { return true }
    }
    return false
  }

  private func requestOffsets(_ inputs: [TopicPartition]) throws {
    if let layout = publisher.layout,
      let new = inputs.first(where: { $0.partition >= layout.inputPartitions })
    {
      return stop(new.partition, layout.unexpected(new.partition, options.topics))
    }
    do throws(KafkaError) {
      restoration.setOffsets(try member.consumer.committed(inputs, timeoutMilliseconds: timeout))
    } catch {
      if error.kind == .timedOut { endAbandonedTransactions(of: inputs) }
      throw error
    }
    for earlier in inputs.compactMap(earlierPartitions) {
      log.write(environment.status.changeTopics { $0.note(earlierInputs: earlier) })
    }
  }

  /// The number of the inputs' partitions at the last commit; nil if it is not less than now.
  private func earlierPartitions(_ input: TopicPartition) -> Int32? {
    let now = publisher.layout?.inputPartitions ?? 0
    return restoration.metadata(of: input).partitions.flatMap { $0 < now ? $0 : nil }
  }

  private func requestEnd(of number: Int32) throws {
    let partition = TopicPartition(topic: options.topics.changesets, partition: number)
    let end = try ends(of: partition, timeoutMilliseconds: timeout)
    let least = restoration.leastEnd(of: number)
    guard end.high < least else {
      let mayUseStandby = restoration.mayUseStandby(number)
      let followed = mayUseStandby ? environment.standby?.take(number, within: end) : nil
      let position = followed?.position
      if let followed { try openedSource().adopt(followed) }
      restoration.setEnd(end, from: position)
      // Only the owner of the partition writes to it.
      publisher.setEnd(end.high, of: number)
      return
    }
    if noteDoubt(Self.staleMilliseconds) { throw StaleEnd(partition: partition) }
    stop(number, .cutChangesets(partition, end: end.high, least: least))
  }

  // MARK: Reading

  private func read() throws {
    let end = min(
      member.schedule.dueTime,
      isServing ? environment.coarseClock() + Self.sliceMilliseconds : .max
    )
    let read = try openedSource().read(timeoutMilliseconds: isServing ? 5 : 100) {
      environment.coarseClock() < end
    }
    progress.add(records: read.records, bytes: read.bytes)
    restoration.advance(to: read.positions)
    let remaining = restoration.unread.reduce(0) { $0 + $1.remaining }
    status.update { $0.restore.read(records: read.records, bytes: read.bytes, remaining: remaining) }
    for (partition, error) in read.unreadable { stop(partition, error) }
    if read.records > 0 {
      quietSince = nil
    } else if Self.duration(&quietSince, now) >= Self.quietMilliseconds {
      // An abandoned transaction may delay the rest.
      endAbandonedTransactions(of: restoration.unreadInputs)
    }
    logProgress()
    if let failure = read.failure { throw failure }
  }

  private func endAbandonedTransactions(of inputs: [TopicPartition]) {
    let now = now
    guard now >= nextAbandonedLook, let member = try? member.consumer.membership().member else { return }
    nextAbandonedLook = now + Self.lookMilliseconds
    let all = options.topics.inputs.flatMap { topic in
      (0..<(publisher.layout?.inputPartitions ?? 0)).map { TopicPartition(topic: topic, partition: $0) }
    }
    abandoned.end(of: inputs, among: all, for: member, timeoutMilliseconds: Self.lookTimeoutMilliseconds)
  }

  // MARK: Taking over

  private func takeOver(_ next: Int32, _ store: isolated FeedStore) throws {
    // One partition after the other, even if another one has been read meanwhile.
    let number = takingOver?.number ?? next
    if takingOver == nil {
      environment.crash?.reach(.inRestore)
      // Nothing was read of an empty partition.
      guard let read = try openedSource().close(number) else {
        return restoration.takeOver(partition: number)
      }
      // The standby already has the partitions that it has followed.
      if !restoration.usesStandby(number) { environment.standby?.noteRestored(read) }
      store.beginRestoring(partition: number, from: read.takeReplicas())
      takingOver = read
    }
    do throws(ReplicaFault) {
      // The next step takes over the rest.
      if try store.restoreNext() { return }
    } catch {
      if let takingOver { stop(number, takingOver.failure(error)) }
      takingOver = nil
      return
    }
    try compareWithInput(number, store)
    restoration.takeOver(partition: number)
    takingOver = nil
  }

  /// Compares the offsets that a partition's feeds have taken with the end of its input. If offsets have started over,
  /// the feeds forget them, because they would skip new records otherwise.
  private func compareWithInput(_ partition: Int32, _ store: isolated FeedStore) throws {
    for start in restoration.starts(of: partition) {
      let input = start.position.topicPartition
      let topic = Array(input.topic.utf8)
      guard let taken = store.restoredThrough.first(where: { $0.topic == topic })?.offset else { continue }
      var limit = taken
      if !start.isRestarted, let known = restoration.metadata(of: input).forgotten,
        start.position.offset <= known
      {
        limit = known
      } else if !start.isRestarted {
        // The requested end, because a new topic may have grown since. A broker that no longer leads the partition would
        // report an end before the committed offset.
        if taken < start.end { continue }
        if try hasCommitted(beyond: taken, of: input) { continue }
        let ends = Watermarks(low: 0, high: start.end)
        try restoration.restart(input, taken: taken, ends, lostInput).log(log)
      }
      store.forgetTaken(of: topic, partition: partition)
      forgotten[input] = limit
    }
  }

  /// Whether a record's offset was committed since the restoration began. If so, the requested end is outdated: the
  /// partition was reassigned, and its new owner has published.
  private func hasCommitted(beyond taken: Int64, of input: TopicPartition) throws(KafkaError) -> Bool {
    let committed = try member.consumer.committed([input], timeoutMilliseconds: timeout)[input]?.offset
    return committed != restoration.committed(of: input) && committed ?? 0 > taken
  }

  /// Stops a partition whose feeds cannot be restored: its input stays paused and uncommitted. The others continue.
  private func stop(_ partition: Int32, _ error: DaemonError) {
    if restoration.startOver(partition: partition) {
      return log.write(
        .standbyDiscarded,
        "standby data is unusable; restoring the partition from its beginning",
        ["partition": partition, "error": error]
      )
    }
    environment.standby?.noteStopped(partition)
    restoration.stop(partition: partition, error)
    log.write(
      .partitionStopped,
      "partition stopped; the others continue",
      ["partition": partition, "error": error]
    )
    nextReminder = now + Self.reminderMilliseconds
    environment.onEvent(.stopped(partition: partition))
    if !isRestoring { finish() }
  }

  /// Sometimes logs the stopped partitions, because nothing else reveals them.
  func logStoppedPartitions() {
    guard let first = restoration.stopped.min(by: { $0.key < $1.key }) else { return }
    let now = now
    guard now >= nextReminder else { return }
    nextReminder = now + Self.reminderMilliseconds
    log.write(
      .partitionStillStopped,
      "partitions are still stopped; operator action required",
      ["partitions": Self.list(restoration.stopped.keys.sorted()), "error": first.value]
    )
  }

  // MARK: The end

  /// Reads the contents up to the ends that the brokers report now, so that restored feeds never show an older content
  /// than before.
  ///
  /// - Returns: whether all are read.
  private func readContents(for starts: [InputStart]) throws -> Bool {
    guard let contents = environment.contents else {
      for start in starts where !restoration.metadata(of: start.position.topicPartition).contents.isEmpty {
        log.write(
          .contentsUnnamed,
          "the partition's items may refer to contents, and topics.contents names no topic; references show null when items change",
          ["partition": start.position.topicPartition]
        )
      }
      return true
    }
    let ends = try contentsEnds ?? contents.requestEnds(timeoutMilliseconds: timeout)
    // A broker that no longer leads a partition may not know all that the members before have shown.
    for start in starts where contentsEnds == nil {
      let seen = restoration.metadata(of: start.position.topicPartition).contents
      guard let behind = seen.first(where: { ends[$0.key] ?? 0 <= $0.value }) else { continue }
      let partition = TopicPartition(topic: options.topics.contents ?? "", partition: behind.key)
      if noteDoubt(Self.staleMilliseconds) { throw StaleEnd(partition: partition) }
    }
    contentsEnds = ends
    let end = min(
      member.schedule.dueTime,
      isServing ? environment.coarseClock() + Self.sliceMilliseconds : .max
    )
    let remaining = try contents.read(upTo: ends, timeoutMilliseconds: isServing ? 5 : 100) {
      environment.coarseClock() < end
    }
    if remaining == 0 {
      contentsEnds = nil
      return true
    }
    if progress.isWaiting(at: now) != nil {
      let isWaiting = remaining == contentsLeft
      contentsLeft = remaining
      log.write(
        isWaiting ? .restoreWaiting : .restoreProgress,
        isWaiting ? "restore is waiting for the contents topic, or for brokers" : "reading contents",
        ["remaining": LogFigure.count(remaining)]
      )
    }
    return false
  }

  /// Resumes the input of partitions whose feeds are restored.
  private func resume(at starts: [InputStart], _ store: isolated FeedStore) throws {
    try member.consumer.seek(starts.map(\.position), timeoutMilliseconds: timeout)
    try member.consumer.resume(starts.map(\.position.topicPartition))
    // A loss or a change that was accepted must not be detected again at the next start.
    for start in starts where start.isLoss || earlierPartitions(start.position.topicPartition) != nil {
      store.cover(start.position, at: now)
    }
    let numbers = Set(starts.map(\.position.partition))
    logRestored(numbers, store)
    restoration.finish()
    environment.onEvent(.restored(partitions: starts.count, feeds: store.feedCount))
    environment.status.restored(numbers, by: worker)
    status.update { [content = store.content] in $0.content = content }
    if !isRestoring { finish() }
  }

  /// All partitions were restored or stopped.
  private func finish() {
    let milliseconds = progress.milliseconds(at: now)
    status.update { $0.restore.finish(milliseconds: milliseconds) }
    reportRunning()
  }

  /// Reports the end of all restorations.
  func reportRunning() {
    if let layout = publisher.layout { environment.standby?.begin(partitions: layout.inputPartitions) }
    environment.status.running(worker, except: Set(restoration.stopped.keys))
    environment.onEvent(.running)
  }

  // MARK: Log

  private func logProgress() {
    let now = now
    guard let isWaiting = progress.isWaiting(at: now) else { return }
    let unread = restoration.unread
    guard !unread.isEmpty else { return }
    let fields: LogFields = [
      "records": LogFigure.count(progress.records), "bytes": LogFigure.bytes(progress.bytes),
      "remaining": LogFigure.count(unread.reduce(0) { $0 + $1.remaining }),
      "partitions": Self.list(unread.map(\.number)),
      "rate": LogFigure.bytesPerSecond(progress.bytesPerSecond(at: now)),
    ]
    log.write(
      isWaiting ? .restoreWaiting : .restoreProgress,
      isWaiting
        ? "restore is waiting for an open transaction in the changesets topic, or for brokers" : "restoring",
      fields
    )
  }

  private func logRestored(_ numbers: Set<Int32>, _ store: isolated FeedStore) {
    let now = now
    let standby: LogFields =
      environment.standby == nil ? [:] : ["standby": numbers.count(where: restoration.usesStandby)]
    log.write(
      .restoreFinished,
      "restored",
      [
        "partitions": Self.list(numbers.sorted()), "feeds": store.feedCount,
        "state": LogFigure.bytes(store.stateBytes), "records": progress.records,
        "bytes": LogFigure.bytes(progress.bytes),
        "duration": LogFigure.duration(milliseconds: progress.milliseconds(at: now)),
        "rate": LogFigure.bytesPerSecond(progress.bytesPerSecond(at: now)),
      ] + standby
    )
  }

  private static let mostListed = 10

  /// The numbers of partitions, at most the first ten.
  private static func list(_ partitions: [Int32]) -> String {
    let numbers = partitions.prefix(mostListed).map(String.init).joined(separator: ",")
    return partitions.count > mostListed ? numbers + ",… (\(partitions.count))" : numbers
  }
}

/// The timeout of a request to the brokers while partitions are restored.
///
/// The call blocks the worker. Brokers do not report committed offsets during an open transaction with other offsets, which
/// takes some seconds after its member was killed. So while other partitions are served, the timeout stays short at first. It
/// grows later, because a slow broker could otherwise never answer.
enum RestoreTimeout {
  /// The first timeout while partitions are served, in milliseconds.
  static let patientMilliseconds: Int32 = 300
  /// The number of failures before it becomes longer; about 25 seconds with the pauses between them.
  static let patientFailures = 60

  /// - Parameter failures: the number of consecutive requests without an answer.
  static func milliseconds(afterFailures failures: Int, isServing: Bool) -> Int32 {
    let timeouts = ExponentialBackoff<Int32>(from: isServing ? 150 : 1_000, to: 8_000)
    guard isServing else { return timeouts[failures] }
    return failures < patientFailures
      ? min(timeouts[failures], patientMilliseconds) : timeouts[failures - patientFailures + 1]
  }
}

extension FeedStore {
  /// Commits an offset with the next flush, independent of the records before it.
  func cover(_ position: TopicPartitionOffset, at now: Int64) {
    cover(topic: Array(position.topic.utf8), partition: position.partition, upTo: position.offset, at: now)
  }
}
