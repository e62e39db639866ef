import Feed
import FeedKafka
import FeedStore
import Kafka
import Service

/// Does what ``Restoration`` says.
extension Worker {
  private static let pauseMilliseconds: Int64 = 100

  /// How long a question may take, and the reading of a portion wait and last. While other partitions are served, they
  /// have to be looked after meanwhile.
  private var isServing: Bool { !machine.positions.read.isEmpty }
  private var askMilliseconds: Int32 {
    min(
      RestoreQuestion.timeoutMilliseconds(afterFailures: restoreFailures, isServing: isServing),
      member.schedule.longestCall
    )
  }
  private var readMilliseconds: Int32 { isServing ? 5 : 100 }
  private static let sliceMilliseconds: Int64 = 50
  /// How long an error is believed to pass that often does not.
  private static let doubtMilliseconds: Int64 = 30_000
  /// How long a broker may take for a partition's leader that is none any more, and name an end of long ago.
  private static let staleMilliseconds: Int64 = 10_000

  private static let reminderMilliseconds: Int64 = 60_000
  /// After so long without anything to read, a transaction is taken for one that may be abandoned.
  private static let quietMilliseconds: Int64 = 200
  private static let lookMilliseconds: Int64 = 500
  private static let lookTimeoutMilliseconds: Int32 = 150

  /// Partitions were assigned: nothing of them is handed out before they are restored.
  func beginRestoring(_ partitions: [TopicPartition]) throws(KafkaError) {
    try consumer.pause(partitions)
    for partition in partitions { forgotten[partition] = nil }
    if !restoration.isUnderWay { progress = RestoreProgress(now: clock.milliseconds()) }
    restoration.assign(partitions)
  }

  /// Forgets what was restored of partitions, at whatever point.
  func dropRestoration(of partitions: Set<Int32>) throws(KafkaError) {
    restoration.release(partitions)
    if let takingOver, partitions.contains(takingOver.number) { self.takingOver = nil }
    try changesets?.drop(partitions)
    endReading()
  }

  func endReading() {
    if restoration.isUnderWay { return }
    changesets = nil
    restoreQuietSince = nil
    abandoned.forget()
  }

  /// Goes one step on. The consumer must be polled between two.
  ///
  /// - Throws: ``DaemonError``, if an operator has to act.
  func restore(_ store: isolated FeedStore) throws {
    do {
      try take(restoration.step, store)
      endReading()
      restoreFailures = 0
      doubtfulSince = nil
    } catch let error as KafkaError {
      guard mayPass(error) else { throw explained(error) }
      pauseRestoring(.restoreRetrying, "transient Kafka error; retrying", ["error": error])
    } catch let stale as StaleAnswer {
      pauseRestoring(
        .restoreStaleEnd,
        "a broker reports an end before the committed offset; asking again",
        ["partition": stale.partition]
      )
    }
  }

  /// Has the step that failed wait before it is done again, and says why now and then.
  private func pauseRestoring(_ event: LogEvent, _ reason: String, _ fields: LogFields) {
    let now = clock.milliseconds()
    restoreResult.retryTime = now + Self.pauseMilliseconds
    restoreFailures += 1
    if progress.line(at: now) != nil { log.write(event, reason, fields) }
  }

  /// A broker has named an end of a partition before what is committed: either it is no leader any more and has not
  /// heard of it, or records are gone.
  private struct StaleAnswer: Error {
    let partition: TopicPartition
  }

  /// Whether a step that failed may succeed later.
  private func mayPass(_ error: KafkaError) -> Bool {
    if error.isFatal { return false }
    if error.isRetriable { return true }
    switch error.kind {
    // A partition whose reading librdkafka has not begun yet cannot be sought.
    case .state: return true
    // The topics were there when the worker began: this broker may not have heard of them yet, or something is
    // wrong with it that it has no word for. Both pass, or are found out by asking for a while.
    // A broker that goes away or is just starting may end a connection in such a way.
    case .unknownTopicOrPartition, .unknown, .tls, .authentication: return isInDoubt(Self.doubtMilliseconds)
    default: return false
    }
  }

  /// Says what has become of the topics, if a partition that was assigned does not exist.
  private func explained(_ error: KafkaError) -> DaemonError {
    guard [.unknownPartition, .unknownTopic, .unknownTopicOrPartition].contains(error.kind) else {
      return DaemonError(error)
    }
    do {
      let metadata = try consumer.metadata(options.topics.distinct, timeoutMilliseconds: askMilliseconds)
      _ = try TopicLayout(options.topics, metadata)
    } catch let problem as DaemonError {
      return problem
    } catch {}
    return DaemonError(error)
  }

  /// Whether what is doubtful, and has been since the last step that was not, is so for less than this time.
  private func isInDoubt(_ milliseconds: Int64) -> Bool {
    let now = clock.milliseconds()
    let since = doubtfulSince ?? now
    doubtfulSince = since
    return now - since < milliseconds
  }

  private func take(_ step: Restoration.Step, _ store: isolated FeedStore) throws {
    switch step {
    case .nothing: break
    case .locate(let inputs):
      if let layout = publisher.layout,
        let new = inputs.first(where: { $0.partition >= layout.inputPartitions })
      {
        return stopPartition(new.partition, layout.unexpected(new.partition, options.topics))
      }
      do throws(KafkaError) {
        restoration.locate(try consumer.committed(inputs, timeoutMilliseconds: askMilliseconds))
        for input in inputs where isCommittedWithFewerPartitions(input) {
          let earlier = restoration.metadata(of: input).partitions ?? 0
          log.write(environment.status.changeTopics { $0.note(earlierInputs: earlier) })
        }
      } catch {
        if error.kind == .timedOut { endAbandonedTransactions(of: inputs) }
        throw error
      }
    case .measure(let input):
      let ends = try reader().ends(of: input, timeoutMilliseconds: askMilliseconds)
      if restoration.isCommittedBeyond(ends), isInDoubt(Self.staleMilliseconds) {
        throw StaleAnswer(partition: input)
      }
      tell(try restoration.measure(ends, lostInput))
    case .bound(let partition):
      let reader = try reader()
      let target = TopicPartition(topic: reader.topic, partition: partition)
      try bound(target, try reader.ends(of: target, timeoutMilliseconds: askMilliseconds), reader)
    case .open(let partitions):
      try reader().open(partitions)
      restoration.open()
    case .read:
      let end = min(
        member.schedule.dueTime,
        isServing ? environment.coarseClock() + Self.sliceMilliseconds : .max
      )
      let portion = try reader().read(timeoutMilliseconds: readMilliseconds) {
        self.environment.coarseClock() < end
      }
      progress.add(records: portion.records, bytes: portion.bytes)
      restoration.advance(to: portion.positions)
      status.update { [restoration] in
        let remaining = restoration.unread.reduce(0) { $0 + $1.remaining }
        $0.restore.read(records: portion.records, bytes: portion.bytes, remaining: remaining)
      }
      for (partition, error) in portion.unreadable { stopPartition(partition, error) }
      if portion.records > 0 { restoreQuietSince = nil } else { noteQuiet() }
      tellProgress()
      if let failure = portion.failure { throw failure }
    case .takeOver(let partition):
      try takeOver(partition, store)
    case .resume(let starts):
      try resume(at: starts, store)
    }
  }

  /// Whether the inputs had fewer partitions when an offset was committed.
  private func isCommittedWithFewerPartitions(_ input: TopicPartition) -> Bool {
    guard let earlier = restoration.metadata(of: input).partitions, let layout = publisher.layout else {
      return false
    }
    return earlier < layout.inputPartitions
  }

  /// Nothing has come of what is read: an open transaction may keep it back.
  private func noteQuiet() {
    let now = clock.milliseconds()
    let since = restoreQuietSince ?? now
    restoreQuietSince = since
    if now - since >= Self.quietMilliseconds { endAbandonedTransactions(of: restoration.unreadInputs) }
  }

  private func endAbandonedTransactions(of inputs: [TopicPartition]) {
    let now = clock.milliseconds()
    guard now >= nextAbandonedLook, let member = try? consumer.membership().member else { return }
    nextAbandonedLook = now + Self.lookMilliseconds
    let numbers = 0..<(publisher.layout?.inputPartitions ?? 0)
    let all = options.topics.inputs.flatMap { topic in
      numbers.map { TopicPartition(topic: topic, partition: $0) }
    }
    abandoned.end(of: inputs, among: all, for: member, timeoutMilliseconds: Self.lookTimeoutMilliseconds)
  }

  private func bound(_ target: TopicPartition, _ ends: Watermarks, _ reader: any RestoredChangesets) throws {
    let least = restoration.leastEnd(of: target.partition)
    guard ends.high < least else {
      restoration.bound(ends, from: continueFollowed(target.partition, ends, reader))
      // Nobody writes there but whoever has the partition.
      publisher.setEnd(ends.high, of: target.partition)
      return
    }
    if isInDoubt(Self.staleMilliseconds) { throw StaleAnswer(partition: target) }
    stopPartition(target.partition, .cutChangesets(target, end: ends.high, least: least))
  }

  func reader() throws(KafkaError) -> any RestoredChangesets {
    if let changesets { return changesets }
    let reader = try environment.clients.makeChangesets(settings, topic: options.topics.changesets, log: log)
    changesets = reader
    return reader
  }

  private func takeOver(_ next: Int32, _ store: isolated FeedStore) throws {
    // One after the other, whatever comes meanwhile.
    let partition = takingOver?.number ?? next
    if takingOver == nil {
      environment.crash?.reach(.inRestore)
      // Of an empty partition nothing was read.
      guard let read = try reader().close(partition) else {
        return restoration.takeOver(partition: partition)
      }
      shareRestored(read)
      store.beginRestoring(partition: partition, from: read.takeReplicas())
      takingOver = read
    }
    do throws(ReplicaFault) {
      // The rest is taken over in the next step.
      if try store.restoreNext() { return }
    } catch {
      if let takingOver { stopPartition(partition, takingOver.failure(error)) }
      takingOver = nil
      return
    }
    try compareWithInput(partition, store)
    restoration.takeOver(partition: partition)
    takingOver = nil
  }

  /// Compares what the feeds of a partition have taken with where its input ends. If offsets have begun again, the feeds
  /// forget what they have taken, or they would pass over what is new.
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
        // As measured before: meanwhile, a new topic may have grown. A broker that does not lead the partition any more would have
        // named an end before the committed offset.
        if taken < start.end { continue }
        tell(try restoration.restart(input, taken: taken, Watermarks(low: 0, high: start.end), lostInput))
      }
      store.forgetTaken(of: topic, partition: partition)
      forgotten[input] = limit
    }
  }

  /// Leaves a partition alone whose feeds cannot be restored: its input stays paused and uncommitted, and the others go
  /// on.
  private func stopPartition(_ partition: Int32, _ error: DaemonError) {
    if discardFollowed(partition, error) { return }
    environment.standby?.noteStopped(partition)
    restoration.stop(partition: partition, error)
    restoreResult.stopped.insert(partition)
    defer { if !restoration.isUnderWay { tellRestored() } }
    log.write(
      .partitionStopped,
      "partition stopped; the others continue",
      ["partition": partition, "error": error]
    )
    nextReminder = clock.milliseconds() + Self.reminderMilliseconds
    onEvent(.stopped(partition: partition))
  }

  /// Says now and then which partitions are stopped, as nothing else goes wrong where they are.
  func remindOfStoppedPartitions() {
    guard let first = restoration.stopped.min(by: { $0.key < $1.key }) else { return }
    let now = clock.milliseconds()
    guard now >= nextReminder else { return }
    nextReminder = now + Self.reminderMilliseconds
    log.write(
      .partitionStillStopped,
      "partitions are still stopped; operator action required",
      ["partitions": Self.list(restoration.stopped.keys.sorted()), "error": first.value]
    )
  }

  /// Has the input of partitions come whose feeds are restored.
  private func resume(at starts: [InputStart], _ store: isolated FeedStore) throws {
    try consumer.seek(starts.map(\.position), timeoutMilliseconds: askMilliseconds)
    try consumer.resume(starts.map(\.position.topicPartition))
    restoreResult.starts = starts.map(\.position)
    // What is lost and passed over, or has changed, is not to be noticed again at the next start.
    for start in starts where start.isLoss || isCommittedWithFewerPartitions(start.position.topicPartition) {
      cover(start.position, store)
    }
    restoration.finish()
    let now = clock.milliseconds()
    let numbers = Set(starts.map(\.position.partition))
    log.write(
      .restoreFinished,
      "restored",
      [
        "partitions": Self.list(numbers.sorted()), "feeds": store.feedCount,
        "state": LogFigure.bytes(store.stateBytes), "records": progress.records,
        "bytes": LogFigure.bytes(progress.bytes),
        "duration": LogFigure.duration(milliseconds: progress.milliseconds(at: now)),
        "rate": LogFigure.bytesPerSecond(progress.bytesPerSecond(at: now)),
      ] + standbyFields(numbers)
    )
    onEvent(.restored(partitions: starts.count, feeds: store.feedCount))
    environment.status.restored(numbers, by: identity.number)
    status.update { [content = store.content] in $0.content = content }
    logSharedIDs(store)
    if !restoration.isUnderWay { tellRestored() }
  }

  /// All partitions are restored that can be.
  private func tellRestored() {
    let now = clock.milliseconds()
    status.update { [progress] in $0.restore.finish(milliseconds: progress.milliseconds(at: now)) }
    tellRunning()
  }

  /// There is nothing to be restored.
  func tellRunning() {
    if let layout = publisher.layout { environment.standby?.begin(partitions: layout.inputPartitions) }
    environment.status.running(identity.number, except: Set(restoration.stopped.keys))
    onEvent(.running)
  }

  private func tell(_ start: InputStart) {
    switch start.finding {
    case .committed: break
    case .noneCommitted:
      log.write(
        .inputNoCommittedOffset,
        "no committed offset; starting at the earliest record",
        ["start": start.position]
      )
    case .lost(let loss), .restarted(let loss):
      log.write(.inputLost, loss + "; continuing without it", ["start": start.position])
    }
  }

  private func tellProgress() {
    let now = clock.milliseconds()
    guard let line = progress.line(at: now) else { return }
    let unread = restoration.unread
    guard !unread.isEmpty else { return }
    let fields: LogFields = [
      "records": LogFigure.count(progress.records), "bytes": LogFigure.bytes(progress.bytes),
      "remaining": LogFigure.count(unread.reduce(0) { $0 + $1.remaining }),
      "partitions": Self.list(unread.map(\.number)),
      "rate": LogFigure.bytesPerSecond(progress.bytesPerSecond(at: now)),
    ]
    switch line {
    case .isReading: log.write(.restoreProgress, "restoring", fields)
    case .isWaiting:
      log.write(
        .restoreWaiting,
        "restore is waiting for an open transaction in the changesets topic, or for brokers",
        fields
      )
    }
  }

  private static let mostListed = 10

  /// Partitions by number, the first of many.
  private static func list(_ partitions: [Int32]) -> String {
    let numbers = partitions.prefix(mostListed).map(String.init).joined(separator: ",")
    return partitions.count > mostListed ? numbers + ",… (\(partitions.count))" : numbers
  }
}
