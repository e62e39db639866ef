import Feed
import FeedStore
import Kafka
import Service

/// Does what ``Restoration`` says.
extension Worker {
  private static let askMilliseconds: Int32 = 1_000
  private static let readMilliseconds: Int32 = 100
  private static let pauseMilliseconds: Int32 = 100

  /// Partitions were assigned: nothing of them is handed out before they are restored.
  func beginRestoring(_ partitions: [TopicPartition]) throws(KafkaError) {
    try consumer.pause(partitions)
    restoration.assign(partitions)
    progress = RestoreProgress(now: MonotonicClock.milliseconds())
  }

  /// Forgets what was restored, at whatever point.
  func dropRestoration() {
    restoration.release()
    changesets = nil
  }

  /// Goes one step on. The consumer must be polled between two.
  ///
  /// - Throws: ``DaemonError``, when going on needs somebody.
  func restore(_ store: isolated FeedStore) throws {
    do {
      try take(restoration.step, store)
      restorePause = 0
    } catch let error as KafkaError {
      // A partition whose reading librdkafka has not begun yet cannot be sought.
      guard error.isRetriable || error.kind == .state, !error.isFatal else { throw DaemonError(error) }
      restorePause = Self.pauseMilliseconds
      if progress.line(at: MonotonicClock.milliseconds()) != nil {
        log.warning("Kafka is disturbed; restoring goes on by itself", ["error": error])
      }
    }
  }

  private func take(_ step: Restoration.Step, _ store: isolated FeedStore) throws {
    switch step {
    case .nothing: break
    case .locate(let inputs):
      restoration.locate(try consumer.committed(inputs, timeoutMilliseconds: Self.askMilliseconds))
    case .measure(let input):
      try restoration.measure(
        try reader().ends(of: input, timeoutMilliseconds: Self.askMilliseconds),
        lostInput
      )
      if let start = restoration.starts.last { tell(start) }
    case .open(let partition):
      let reader = try reader()
      let target = TopicPartition(topic: reader.topic, partition: partition)
      let ends = try reader.ends(of: target, timeoutMilliseconds: Self.askMilliseconds)
      try reader.open(partition)
      restoration.open(ends)
    case .read:
      let portion = try reader().read(timeoutMilliseconds: Self.readMilliseconds)
      progress.add(records: portion.records, bytes: portion.bytes)
      if let position = portion.position { restoration.advance(to: position) }
      tellProgress()
    case .takeOver(let partition):
      try takeOver(partition, store)
    case .resume(let positions):
      try resume(at: positions, store)
    }
  }

  private func reader() throws(KafkaError) -> ChangesetReader {
    if let changesets { return changesets }
    let reader = try ChangesetReader(settings, topic: options.topics.changesets, log: log.kafkaHandler)
    changesets = reader
    return reader
  }

  private func takeOver(_ partition: Int32, _ store: isolated FeedStore) throws {
    let reader = try reader()
    do throws(ReplicaFault) {
      try store.restore(partition: partition, from: reader.takeReplicas())
    } catch {
      throw reader.failure(error)
    }
    restoration.takeOver()
  }

  private func resume(at starts: [TopicPartitionOffset], _ store: isolated FeedStore) throws {
    try consumer.seek(starts, timeoutMilliseconds: Self.askMilliseconds)
    try consumer.resume(restoration.inputs)
    positions.begin(at: starts)
    restoration.finish()
    changesets = nil
    let now = MonotonicClock.milliseconds()
    log.info(
      "restored",
      [
        "feeds": store.feedCount, "records": progress.records, "bytes": Quantity.bytes(progress.bytes),
        "time": Quantity.duration(nanoseconds: progress.milliseconds(at: now) * 1_000_000),
        "rate": progress.rate(at: now),
      ]
    )
    onEvent(.restored(partitions: starts.count, feeds: store.feedCount))
    onEvent(.running)
  }

  private func tell(_ start: InputStart) {
    switch start.finding {
    case .committed: break
    case .noneCommitted:
      log.info("no committed offset; reading begins at the earliest record", ["start": start.position])
    case .lost(let loss):
      log.warning(loss + "; reading goes on without it", ["start": start.position])
    }
  }

  private func tellProgress() {
    let now = MonotonicClock.milliseconds()
    guard case .reading(let partition, let position, let high) = restoration.state,
      let line = progress.line(at: now)
    else { return }
    let fields: LogFields = [
      "partition": partition, "offset": position, "remaining": high - position,
      "partitions": restoration.partitionsLeft.count, "rate": progress.rate(at: now),
    ]
    switch line {
    case .isReading: log.info("restoring", fields)
    case .isWaiting:
      log.warning(
        "restoring waits for the end of a transaction in the changesets topic, or for Kafka",
        fields
      )
    }
  }
}
