import Changesets
import Feed
import Kafka
import OperatingSystem

/// Reads the changesets topic and passes its records to the subscriptions. It runs on one thread and blocks it.
final class ChangesetFollower {
  private let subscriptions: Subscriptions
  private let reader: PartitionReader
  private let topicTimeout: Duration
  private let planIndexer = JSONIndexer()
  private let log: KafkaLogHandler
  /// A monotonic clock.
  private let milliseconds: () -> Int64
  /// Receives the progress of partitions, on this thread; nil if unused.
  private let onProgress: (@Sendable ([PartitionProgress]) -> Void)?
  private var nextProgress: Int64 = 0

  /// The partitions that the client reads.
  private var opened: Set<Int32> = []
  /// Whether records may have been lost during a wait, so that all partitions must be opened again.
  private var hasWaited = false
  /// The last known number of the topic's partitions.
  private var knownCount: Int32 = 0
  /// Whether all partitions were requested.
  private var followsAll = false
  /// The time of the next check for more.
  private var nextCheck: Int64 = 0

  /// The result of a step.
  enum Step {
    case done
    /// A subscriber that pauses reading has a full queue: wait until there is room.
    case isFull
    case stopped
  }

  init(
    _ client: any RecordConsumer,
    _ subscriptions: Subscriptions,
    topicTimeout: Duration,
    log: @escaping KafkaLogHandler,
    milliseconds: @escaping () -> Int64 = MonotonicClock.milliseconds,
    onProgress: (@Sendable ([PartitionProgress]) -> Void)? = nil
  ) {
    self.subscriptions = subscriptions
    self.topicTimeout = topicTimeout
    self.log = log
    self.milliseconds = milliseconds
    self.onProgress = onProgress
    reader = PartitionReader(topic: subscriptions.topic, client: client)
  }

  /// Handles a request, or reads records.
  ///
  /// - Throws: ``FeedClientError`` or `KafkaError`.
  func step() throws -> Step {
    switch subscriptions.takeRequest() {
    case .stop: return .stopped
    case .follow(let partitions): try follow(partitions)
    case .none:
      guard try read() else { return .isFull }
      try followNewPartitions()
    }
    return .done
  }

  // MARK: Records

  /// - Returns: false if there is no room.
  private func read() throws -> Bool {
    let events = try reader.read(timeoutMilliseconds: FollowerTimes.poll) { record in take(record) }
    guard let events else { return false }
    for (partition, offset) in events.ends { subscriptions.noteEnd(partition, offset: offset) }
    if let failure = events.failure { throw failure }
    subscriptions.updateStanding()
    for message in subscriptions.takeSharedIDs() { log(.warning, SharedIDs.facility, message) }
    reportProgress()
    return true
  }

  private func take(_ record: Message) -> Bool {
    let taken = subscriptions.take(
      record.partition,
      offset: record.offset,
      key: record.key.map { ByteSpan($0) } ?? .empty,
      value: record.payload.map { ByteSpan($0) },
      plan: {
        record.header(ChangesetPlan.header).flatMap { ChangesetPlan(ByteSpan($0), indexer: planIndexer) }
      }
    )
    switch taken {
    case .taken: return true
    case .noRoom: return false
    case .unreadable(let fault):
      log(
        .error,
        "CHANGESET",
        "\(reader.topic) [\(record.partition)], offset \(record.offset), is skipped: \(fault.message)"
      )
      return true
    }
  }

  private func reportProgress() {
    guard let onProgress else { return }
    let now = milliseconds()
    guard now >= nextProgress else { return }
    nextProgress = now + FollowerTimes.progress
    var progress = subscriptions.progress
    for index in progress.indices { progress[index].knownEnd = reader.knownEnd(of: progress[index].number) }
    onProgress(progress)
  }

  // MARK: Partitions

  /// Also follows partitions that were added to the topic, if all are followed.
  private func followNewPartitions() throws {
    let now = milliseconds()
    guard followsAll, now >= nextCheck else { return }
    nextCheck = now + FollowerTimes.check
    let metadata = try? reader.client.metadataByName(
      [reader.topic],
      timeoutMilliseconds: FollowerTimes.request
    )
    guard let count = metadata?.partitionCounts[reader.topic], count > knownCount else { return }
    log(
      .warning,
      "PARTITIONS",
      "\(reader.topic) had \(knownCount) partitions and has \(count) now; the new ones are followed as well. "
        + "Feeds whose keys hash to another partition since then start over there, and their old copies stay"
    )
    try follow(nil)
  }

  private func follow(_ requested: Set<Int32>?) throws {
    followsAll = requested == nil
    if requested?.allSatisfy({ (0..<knownCount).contains($0) }) != true || knownCount == 0 {
      guard let count = try partitionCount() else { return }
      knownCount = count
    }
    let count = knownCount
    let numbers = requested ?? Set(0..<count)
    if let stranger = numbers.first(where: { !(0..<count).contains($0) }) {
      throw FeedClientError(
        .unknownPartition,
        "\(reader.topic) has \(count) partitions, but partition \(stranger) was requested; "
          + "name partitions from 0 to \(count - 1)"
      )
    }
    let known = subscriptions.positions
    var ends: [Int32: Watermarks] = [:]
    for number in numbers.sorted() where known[number] == nil {
      let watermarks = try ask { () throws(KafkaError) in
        try reader.client.queryWatermarks(
          reader.topicPartition(number),
          timeoutMilliseconds: FollowerTimes.request
        )
      }
      guard let watermarks else { return }
      ends[number] = watermarks
    }
    subscriptions.open(numbers, beginnings: ends.mapValues(\.low), ends: ends.mapValues(\.high))
    let positions = subscriptions.positions
    // A worker may have taken a partition that is now followed again, from another offset.
    let kept = hasWaited ? [] : Set(opened.filter { known[$0] != nil && positions[$0] != nil })
    try reader.remove(opened.subtracting(kept))
    opened = kept
    try reader.add(positions.filter { !kept.contains($0.key) })
    opened = Set(positions.keys)
    hasWaited = false
  }

  private func partitionCount() throws -> Int32? {
    // Capped at an integer that a double represents exactly: practically without limit.
    var wait = TopicWait(milliseconds: Int64(min(topicTimeout / .milliseconds(1), 0x1p53)))
    while true {
      let metadata = try ask { () throws(KafkaError) in
        try reader.client.metadata([reader.topic], timeoutMilliseconds: FollowerTimes.request)
      }
      guard let metadata else { return nil }
      if let count = metadata.partitionCounts[reader.topic], count > 0 { return count }
      switch wait.step(at: milliseconds()) {
      case .ask: break
      case .askAndTell(let remaining):
        log(.warning, "TOPIC", "waiting for topic \(reader.topic), for up to \(remaining) s")
      case .giveUp:
        throw FeedClientError(
          .missingTopic,
          "the topic \(reader.topic) does not exist; create it, or check its name and the client's access"
        )
      }
      try pause(TopicWait.pauseMilliseconds)
    }
  }

  /// Repeats a request until the brokers answer; nil if a new request arrives first.
  private func ask<Answer>(_ question: () throws(KafkaError) -> Answer) throws(KafkaError) -> Answer? {
    while !subscriptions.hasRequest {
      do throws(KafkaError) {
        return try question()
      } catch {
        guard error.isRetriable else { throw error }
        // The client logs connection errors itself.
        if !error.isConnectionFault { log(.warning, "RETRY", "asked again: \(error)") }
        try pause(FollowerTimes.poll)
      }
    }
    return nil
  }

  /// Waits, and serves the client's events.
  private func pause(_ milliseconds: Int32) throws(KafkaError) {
    hasWaited = true
    try reader.wait(milliseconds: milliseconds)
  }
}

/// Times of a follower, in milliseconds.
private enum FollowerTimes {
  static let poll: Int32 = 100
  /// The timeout of one request. The follower checks for a stop between requests and then repeats the request.
  static let request: Int32 = 2_000
  static let progress: Int64 = 20
  /// The interval of checks for new partitions.
  static let check: Int64 = 5_000
}
