import Changesets
import Diagnostics
package import FeedKafka
package import FeedStatus
package import Kafka
import OperatingSystem

/// The membership of a worker, or of ingest, in the consumer group: the consumer, the results of its polls, and the next poll's time.
///
/// Used on the worker's thread only.
package final class InputReader {
  private static let batchCapacity = 10_000
  private static let metadataMilliseconds: Int32 = 1_000

  private let configuration: KafkaConfiguration
  private let environment: WorkerEnvironment
  private let status: WorkerStatus
  package private(set) var consumer: any GroupConsumer
  /// The records of the last poll that took input.
  package private(set) var batch: KafkaBatch
  /// For polls during other work, when `batch` may hold unapplied records.
  package private(set) var idleBatch: KafkaBatch
  package private(set) var schedule: PollSchedule
  /// Partitions with records after a position: the position, and the time from which it has not changed.
  private var held: [TopicPartition: (position: Int64, since: Int64)] = [:]

  private static let openMilliseconds: Int64 = 60_000

  package init(
    _ configuration: KafkaConfiguration,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment,
    _ status: WorkerStatus
  ) throws(KafkaError) {
    self.configuration = configuration
    self.environment = environment
    self.status = status
    schedule = PollSchedule(maxPollMilliseconds: settings.maxPollMilliseconds)
    (consumer, batch, idleBatch) = try Self.join(configuration, environment, status)
  }

  private static func join(
    _ configuration: KafkaConfiguration,
    _ environment: WorkerEnvironment,
    _ status: WorkerStatus
  ) throws(KafkaError) -> (any GroupConsumer, batch: KafkaBatch, idleBatch: KafkaBatch) {
    let consumer = try environment.clients.makeConsumer(configuration, log: environment.log)
    consumer.onStatistics = { status.record(.consumer, $0) }
    func makeBatch(_ capacity: Int) -> KafkaBatch {
      KafkaBatch(
        consumer,
        capacity: capacity,
        clock: environment.coarseClock,
        wallClock: environment.wallClock
      )
    }
    return (consumer, makeBatch(batchCapacity), makeBatch(1))
  }

  /// Waits for the brokers, and up to the given time for missing topics.
  ///
  /// - Returns: the topics' metadata; nil if a stop was requested meanwhile.
  package func findTopics(_ topics: [String], waitMilliseconds: Int64) throws(KafkaError) -> TopicMetadata? {
    var wait = TopicWait(milliseconds: waitMilliseconds)
    while !environment.stop.isRequested {
      status.heartbeat()
      do throws(KafkaError) {
        let metadata = try consumer.metadata(topics, timeoutMilliseconds: Self.metadataMilliseconds)
        let (missing, now) = (metadata.missing, environment.clients.milliseconds())
        guard !missing.isEmpty, wait.lasts(for: missing, at: now, environment.log) else { return metadata }
        try pollIdle(timeoutMilliseconds: TopicWait.pauseMilliseconds)
      } catch {
        guard error.isRetriable, !error.isFatal else { throw error }
        // The client logs refused connections.
        if !error.isConnectionFault {
          environment.log.write(.startupWaitingForBrokers, "waiting for brokers", ["error": error])
        }
      }
    }
    return nil
  }

  /// Joins as a new member, with a new consumer.
  package func replace(closeMilliseconds: Int32) throws(KafkaError) {
    close(timeoutMilliseconds: closeMilliseconds)
    (consumer, batch, idleBatch) = try Self.join(configuration, environment, status)
  }

  /// Polls for input. The records of the last poll must have been taken.
  package func poll(timeoutMilliseconds: Int32) throws(KafkaError) {
    try batch.poll(timeoutMilliseconds: timeoutMilliseconds)
    schedule.poll(at: environment.coarseClock())
  }

  /// Polls without taking input, so that the group keeps the member during other work. Inputs must be paused.
  package func pollIdle(timeoutMilliseconds: Int32 = 0) throws(KafkaError) {
    try idleBatch.poll(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Logs an error that a poll returned.
  ///
  /// - Throws: the error, if an operator has to act.
  package func note(_ error: KafkaError) throws(DaemonError) {
    if error.isFatal { throw DaemonError(error) }
    if error.kind.isRefusal { throw .cannot("read", error) }
    let isTransient = error.isRetriable
    environment.log.write(
      isTransient ? .inputRetrying : .inputError,
      isTransient ? "transient Kafka error; retrying" : "Kafka error",
      ["error": error]
    )
  }

  /// The number of records after each position, as far as the brokers have reported.
  package func lag(behind positions: [TopicPartition: Int64]) -> [TopicPartition: Int64] {
    var lag: [TopicPartition: Int64] = [:]
    for (partition, offset) in positions {
      if let end = consumer.knownEnd(of: partition) { lag[partition] = max(0, end - offset) }
    }
    return lag
  }

  /// Logs which partitions a transaction of another producer holds back for a minute or more. Call it once a second.
  package func noteOpenTransactions(behind positions: [TopicPartition: Int64]) {
    let now = environment.clients.milliseconds()
    var still = held
    held = [:]
    for (partition, lag) in lag(behind: positions) where lag > 0 {
      let (position, former) = (positions[partition] ?? 0, still.removeValue(forKey: partition))
      let since = former?.position == position ? former?.since ?? now : now
      held[partition] = (position, since)
      guard now - since >= Self.openMilliseconds else { continue }
      held[partition]?.since = now
      // For a read-committed client, the end is before the first open transaction.
      let wait = Self.metadataMilliseconds
      guard let end = try? consumer.queryWatermarks(partition, timeoutMilliseconds: wait).high,
        end < position + lag
      else { return }
      environment.log.write(
        .inputTransactionOpen,
        "a producer keeps a transaction open, which holds back all later records; end it (kafka-transactions.sh find-hanging, abort)",
        ["partition": partition, "offset": end, "lag": lag]
      )
    }
  }

  /// The number of records that no poll has returned yet, as far as brokers have reported, and their partitions.
  package func unread(
    after positions: [TopicPartition: Int64]
  ) -> (count: Int64, partitions: [TopicPartition]) {
    let lag = lag(behind: positions).filter { $0.value > 0 }
    return (lag.values.reduce(0, +), Array(lag.keys))
  }

  /// Updates the backlog after a poll, if that is due, and keeps the fetching going while the input is behind.
  ///
  /// - Returns: whether it was due.
  package func update(
    _ backlog: inout Backlog,
    at now: Int64,
    after positions: @autoclosure () -> [TopicPartition: Int64]
  ) -> Bool {
    guard backlog.isDue(records: batch.count, at: now) else { return false }
    let unread = unread(after: positions())
    backlog.poll(isEmpty: batch.isEmpty, unread: unread.count)
    if backlog.isBehind { keepFetching(unread.partitions, &backlog) }
    return true
  }

  /// Resumes fetching as soon as the queue of fetched records is half empty; librdkafka waits a second.
  private func keepFetching(_ partitions: [TopicPartition], _ backlog: inout Backlog) {
    if KafkaSettings.noticesRoom || partitions.isEmpty { return }
    guard let partition = backlog.wake(fetched: consumer.fetchedCount, of: partitions) else { return }
    consumer.wakeFetcher(of: partition)
  }

  /// Whether the group has to be polled now.
  package var isPollDue: Bool { schedule.isDue(at: environment.coarseClock()) }

  /// Counts a failed poll as a poll.
  package func postponePoll() { schedule.poll(at: environment.coarseClock()) }

  /// Drops the polled records, which the consumer reads again later.
  package func dropInput() {
    batch.taken.discard()
    batch.discard()
  }

  /// Leaves the group. After the timeout, the client closes in the background.
  package func close(timeoutMilliseconds: Int32) {
    do {
      try consumer.close(timeoutMilliseconds: timeoutMilliseconds)
    } catch {
      environment.log.write(.groupLeaveFailed, "could not leave the group", ["error": error])
    }
  }
}

/// The time of the next poll of the group, which is due even during other work.
///
/// The group removes a member that does not poll within `max.poll.interval.ms`. A third of that leaves time for calls
/// that cannot be interrupted; a limit of one second keeps other members from waiting longer in a rebalance.
package struct PollSchedule: Equatable {
  /// The maximum time between two polls, in milliseconds.
  let intervalMilliseconds: Int64
  /// The maximum time of an uninterruptible call between two polls, in milliseconds.
  package let longestCall: Int32
  /// The time of the next poll, in milliseconds of the monotonic clock.
  package private(set) var dueTime: Int64 = 0

  static let longestMilliseconds: Int64 = 1_000

  /// - Parameter maxPollMilliseconds: `max.poll.interval.ms`.
  init(maxPollMilliseconds: Int64) {
    intervalMilliseconds = min(Self.longestMilliseconds, max(1, maxPollMilliseconds / 3))
    longestCall = Int32(clamping: max(Self.longestMilliseconds, maxPollMilliseconds / 3))
  }

  func isDue(at now: Int64) -> Bool { now >= dueTime }

  mutating func poll(at now: Int64) { dueTime = now + intervalMilliseconds }
}
