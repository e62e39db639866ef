import Feed
import Kafka
import Service

/// Reads the changesets topic and passes its records to the board. It runs on one thread and blocks it.
final class ChangesetFollower {
  private let topic: String
  private let topicTimeout: Duration
  private let board: FeedBoard
  private let consumer: Consumer
  private let batch: MessageBatch
  private let planIndexer = JSONIndexer()
  private let log: KafkaLogHandler
  /// Told how far partitions were followed, on this thread; nil if nobody wants to know.
  private let onProgress: (@Sendable ([PartitionProgress]) -> Void)?
  /// When that is told next, in milliseconds of the monotonic clock.
  private var nextProgress: Int64 = 0

  /// How many partitions the topic had when all of them were asked for; nil if some were.
  private var followedCount: Int32?
  /// When to look next whether it has more, in milliseconds of the monotonic clock.
  private var nextLook: Int64 = 0

  private static let lookMilliseconds: Int64 = 5_000
  private static let progressMilliseconds: Int64 = 20
  private static let pollMilliseconds: Int32 = 100
  /// The timeout of one request. The follower checks for a stop between requests and then repeats the request.
  private static let questionMilliseconds: Int32 = 2_000
  private static let closeMilliseconds: Int32 = 5_000

  init(
    _ options: FeedClientOptions,
    _ board: FeedBoard,
    log: @escaping KafkaLogHandler,
    onProgress: (@Sendable ([PartitionProgress]) -> Void)? = nil
  ) throws(KafkaError) {
    self.onProgress = onProgress
    topic = options.topic
    topicTimeout = options.topicTimeout
    self.board = board
    self.log = log
    var configuration = options.kafka
    configuration["auto.offset.reset"] = "earliest"
    consumer = try Consumer(configuration: configuration, isolationLevel: .readCommitted, log: log)
    batch = consumer.makeBatch(capacity: options.batchCapacity)
  }

  /// Follows until the board is asked to stop.
  func run() async throws {
    defer { try? consumer.close(timeoutMilliseconds: Self.closeMilliseconds) }
    while true {
      switch board.takeRequest() {
      case .stop: return
      case .follow(let partitions): try assign(partitions)
      case .none:
        try await read()
        try followNewPartitions()
      }
    }
  }

  // MARK: Records

  private func read() async throws {
    try consumer.poll(into: batch, timeoutMilliseconds: Self.pollMilliseconds)
    for index in 0..<batch.count {
      let message = batch[index]
      while take(message) == .noRoom {
        await board.waitForRoom()
        // The rest of the batch is read again from the board's positions, for partitions that are still followed.
        if board.hasRequest { return }
      }
    }
    for event in batch.events {
      switch event {
      case .endOfPartition(_, let partition, let offset): board.noteEnd(partition, offset: offset)
      case .error(let error): if !error.isRetriable { throw error }
      }
    }
    board.updateStanding()
    for message in board.takeSharedIDs() { log(.warning, SharedIDs.facility, message) }
    tellProgress()
  }

  private func tellProgress() {
    guard let onProgress else { return }
    let now = MonotonicClock.milliseconds()
    guard now >= nextProgress else { return }
    nextProgress = now + Self.progressMilliseconds
    var progress = board.progress
    for index in progress.indices {
      let partition = TopicPartition(topic: topic, partition: progress[index].number)
      progress[index].knownEnd = consumer.knownEnd(of: partition)
    }
    onProgress(progress)
  }

  private enum Taken { case taken, noRoom }

  private func take(_ message: Message) -> Taken {
    let taken = board.take(
      message.partition,
      offset: message.offset,
      key: message.key.map { ByteSpan($0) } ?? .empty,
      value: message.payload.map { ByteSpan($0) },
      plan: {
        message.header(ChangesetPlan.header).flatMap { ChangesetPlan(ByteSpan($0), indexer: planIndexer) }
      }
    )
    switch taken {
    case .taken: return .taken
    case .noRoom: return .noRoom
    case .unreadable(let fault):
      log(
        .error,
        "CHANGESET",
        "\(topic) [\(message.partition)], offset \(message.offset), is skipped: \(fault.message)"
      )
      return .taken
    }
  }

  // MARK: Partitions

  /// Follows partitions that the topic has got since, if all are to be followed.
  private func followNewPartitions() throws {
    let now = MonotonicClock.milliseconds()
    guard let followedCount, now >= nextLook else { return }
    nextLook = now + Self.lookMilliseconds
    let metadata = try? consumer.metadataByName([topic], timeoutMilliseconds: Self.questionMilliseconds)
    guard let count = metadata?.partitionCounts[topic], count > followedCount else { return }
    log(
      .warning,
      "PARTITIONS",
      "\(topic) had \(followedCount) partitions and has \(count) now; the new ones are followed as well. "
        + "Feeds whose keys hash to another partition since then start over there, and their old copies stay"
    )
    try assign(nil)
  }

  private func assign(_ asked: Set<Int32>?) throws {
    guard let count = try partitionCount() else { return }
    followedCount = asked == nil ? count : nil
    let numbers = asked ?? Set(0..<count)
    if let stranger = numbers.first(where: { !(0..<count).contains($0) }) {
      throw FeedClientError(
        .unknownPartition,
        "\(topic) has \(count) partitions, but partition \(stranger) was requested; "
          + "name partitions from 0 to \(count - 1)"
      )
    }
    var ends: [Int32: Watermarks] = [:]
    for number in numbers where board.positions[number] == nil {
      let partition = TopicPartition(topic: topic, partition: number)
      let watermarks = try ask { () throws(KafkaError) in
        try consumer.queryWatermarks(partition, timeoutMilliseconds: Self.questionMilliseconds)
      }
      guard let watermarks else { return }
      ends[number] = watermarks
    }
    board.open(numbers, beginnings: ends.mapValues(\.low), ends: ends.mapValues(\.high))
    // Explicit offsets, as librdkafka retries its own offset lookup only after half a second.
    try consumer.assign(
      board.positions.map { TopicPartitionOffset(topic: topic, partition: $0.key, offset: $0.value) }
    )
  }

  private func partitionCount() throws -> Int32? {
    let (seconds, attoseconds) = topicTimeout.components
    let most = Int64.max / 1_000 - 1
    var wait = TopicWait(milliseconds: min(seconds, most) * 1_000 + attoseconds / 1_000_000_000_000_000)
    while true {
      let metadata = try ask { () throws(KafkaError) in
        try consumer.metadata([topic], timeoutMilliseconds: Self.questionMilliseconds)
      }
      guard let metadata else { return nil }
      if let count = metadata.partitionCounts[topic], count > 0 { return count }
      switch wait.step(at: MonotonicClock.milliseconds()) {
      case .ask: break
      case .askAndTell(let remaining):
        log(.warning, "TOPIC", "waiting for topic \(topic), for up to \(remaining) s")
      case .giveUp:
        throw FeedClientError(
          .missingTopic,
          "the topic \(topic) does not exist; create it, or check its name and the client's access"
        )
      }
      // Waits, and serves the client's events meanwhile.
      try consumer.poll(into: batch, timeoutMilliseconds: TopicWait.pauseMilliseconds)
    }
  }

  /// Repeats a request until the brokers answer; nil if the board receives a new request meanwhile.
  private func ask<Answer>(_ question: () throws(KafkaError) -> Answer) throws(KafkaError) -> Answer? {
    while !board.hasRequest {
      do throws(KafkaError) {
        return try question()
      } catch {
        guard error.isRetriable else { throw error }
        // The client logs connection errors itself.
        if !error.isConnectionFault { log(.warning, "RETRY", "asked again: \(error)") }
        // Waits, and serves the client's events meanwhile.
        try consumer.poll(into: batch, timeoutMilliseconds: Self.pollMilliseconds)
      }
    }
    return nil
  }
}
