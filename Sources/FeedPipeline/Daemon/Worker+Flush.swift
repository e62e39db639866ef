import Feed
import FeedStore
import Kafka
import Service

extension Worker {
  /// How long a flush goes on trying, unless the end is asked for.
  private static let flushMilliseconds: Int64 = 60_000
  private static let seekMilliseconds: Int32 = 30_000

  /// Publishes what waits, with the offsets it covers, in one transaction.
  ///
  /// When that is aborted, the store is rolled back and the input read again; then nothing waits either.
  ///
  /// - Parameter isRevoking: the partitions are about to be given up, so there is nothing to read again.
  /// - Throws: ``DaemonError`` when going on needs somebody.
  func flush(_ store: isolated FeedStore, isRevoking: Bool = false) throws(DaemonError) {
    guard store.hasWaitingRecords else { return }
    let giveUp = MonotonicClock.milliseconds() + Self.flushMilliseconds
    let hasTime = { [stop] in
      MonotonicClock.milliseconds() < min(giveUp, stop.deadline ?? .max)
    }
    do {
      let covered = try publish(store, hasTime)
      store.confirm()
      positions.commit(covered)
      recovery.committed()
      onEvent(.committed(earlierCounters.adding(store.counters)))
    } catch {
      try recover(from: error, store, isRevoking, hasTime)
    }
  }

  private func publish(
    _ store: isolated FeedStore,
    _ hasTime: () -> Bool
  ) throws(FlushFailure) -> [TopicPartitionOffset] {
    guard var transaction else { preconditionFailure("a flush before the start") }
    try transaction.begin()
    var part = store.beginFlush()
    try transaction.write(part, hasTime: hasTime)
    while !part.isLast {
      part = store.nextPart()
      try transaction.write(part, hasTime: hasTime)
    }
    let covered = part.covered.map {
      TopicPartitionOffset(
        topic: String(decoding: $0.topic, as: UTF8.self),
        partition: $0.partition,
        offset: $0.nextOffset
      )
    }
    let group: ConsumerGroupMetadata
    do {
      group = try consumer.groupMetadata()
    } catch {
      throw FlushFailure(stage: .producing, error: error)
    }
    try transaction.commit(covered, group, hasTime: hasTime)
    return covered
  }

  private func recover(
    from failure: FlushFailure,
    _ store: isolated FeedStore,
    _ isRevoking: Bool,
    _ hasTime: () -> Bool
  ) throws(DaemonError) {
    guard let transaction else { return }
    let error = failure.error
    guard recovery.action(for: error, in: failure.stage, hasTime: false) == .abort else {
      throw stopped(by: failure)
    }
    do {
      let undelivered = try transaction.abort(hasTime: hasTime)
      recovery.aborted()
      store.rollBack()
      log.warning(
        "a flush was aborted; its input is read again",
        ["error": error, "undelivered": undelivered.count, "inARow": recovery.abortedInARow]
      )
      for error in undelivered.errors { log.warning("not delivered", ["error": error]) }
      try rewind(isRevoking)
      try transaction.wait(milliseconds: recovery.waitMilliseconds)
    } catch {
      throw DaemonError(error)
    }
  }

  /// Goes back to what is committed, for every partition of which anything was handed out.
  private func rewind(_ isRevoking: Bool) throws(KafkaError) {
    // Whoever has the partitions next reads from there by itself.
    if isRevoking { return }
    batch.discard()
    try consumer.seek(positions.resume, timeoutMilliseconds: Self.seekMilliseconds)
  }

  private func stopped(by failure: FlushFailure) -> DaemonError {
    let error = failure.error
    var remedy = "start feedstore again when the cause is gone"
    if failure.stage == .committing, !error.isFatal {
      remedy = "whether the transaction was committed is not known: " + remedy
    }
    return DaemonError(.kafka, "cannot publish: \(error); \(remedy)", isRetriable: error.isRetriable)
  }
}
