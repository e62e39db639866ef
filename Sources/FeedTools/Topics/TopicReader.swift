import Changesets
import Diagnostics
import FeedConfiguration
import FeedKafka
import Kafka
import OperatingSystem

/// Reads the committed records of one topic up to their end, for commands that end. It belongs to one thread.
final class TopicReader {
  let topic: String
  /// The configuration key with the topic's name.
  private let key: String
  private let wait: TopicWait
  private let log: Log
  private let reader: PartitionReader
  /// The open partitions.
  private var opened: Set<Int32> = []
  /// The maximum time without a record.
  private let patienceMilliseconds: Int64

  private static let timeoutMilliseconds: Int32 = 10_000
  private static let pollMilliseconds: Int32 = 100
  private static let closeMilliseconds: Int32 = 2_000

  /// - Parameters:
  ///   - topic: the topic's name, and its configuration key.
  ///   - patienceMilliseconds: the maximum time without a record before the end.
  init(
    _ settings: KafkaSettings,
    _ configuration: FeedStoreConfiguration,
    topic: (name: String, key: String),
    patienceMilliseconds: Int64,
    log: Log
  ) throws(KafkaError) {
    (self.topic, key) = topic
    wait = TopicWait(milliseconds: configuration.startupTimeoutMilliseconds)
    self.patienceMilliseconds = patienceMilliseconds
    self.log = log
    reader = PartitionReader(
      topic: topic.name,
      client: try Consumer(
        configuration: settings.restorer,
        isolationLevel: .readCommitted,
        log: log.kafkaHandler
      )
    )
  }

  func close() throws(KafkaError) { try reader.client.close(timeoutMilliseconds: Self.closeMilliseconds) }

  /// The topic's number of partitions; nil if the topic does not exist, or may not be read.
  func partitionCountIfKnown() throws(KafkaError) -> Int32? {
    let metadata = try wait.metadata([topic], log) { topics throws(KafkaError) in
      try reader.client.metadata(topics, timeoutMilliseconds: Self.timeoutMilliseconds)
    } pause: { milliseconds throws(KafkaError) in
      try reader.wait(milliseconds: milliseconds)
    }
    return metadata.partitionCounts[topic]
  }

  /// The topic's number of partitions.
  ///
  /// - Throws: ``DaemonError`` if the topic does not exist; `KafkaError`.
  func partitionCount() throws -> Int32 {
    guard let count = try partitionCountIfKnown() else {
      throw DaemonError(
        .missingTopic,
        "topic \(topic) does not exist, or may not be read; set \(key) to its name"
      )
    }
    return count
  }

  /// The current first and end offset of a partition. Records of open transactions are after the end.
  ///
  /// - Parameter other: another topic; nil for the reader's.
  func watermarks(_ partition: Int32, of other: String? = nil) throws(KafkaError) -> Watermarks {
    let partition = TopicPartition(topic: other ?? topic, partition: partition)
    let deadline = MonotonicClock.milliseconds() + Int64(Self.timeoutMilliseconds)
    while true {
      do throws(KafkaError) {
        return try reader.client.queryWatermarks(partition, timeoutMilliseconds: Self.timeoutMilliseconds)
      } catch {
        // Not all brokers know a new topic, or a new leader, at once.
        guard error.isRetriable || error.kind == .unknownTopicOrPartition,
          MonotonicClock.milliseconds() < deadline, !StopRequest.process.isRequested
        else { throw error }
      }
      try reader.wait(milliseconds: Self.pollMilliseconds)
    }
  }

  /// The current offsets of all partitions.
  ///
  /// - Throws: ``DaemonError`` if the topic does not exist; `KafkaError`.
  func wholePartitions() throws -> [Int32: Range<Int64>] {
    var ranges: [Int32: Range<Int64>] = [:]
    for partition in 0..<(try partitionCount()) {
      let marks = try watermarks(partition)
      ranges[partition] = marks.low..<marks.high
    }
    return ranges
  }

  func wait(milliseconds: Int32) throws(KafkaError) { try reader.wait(milliseconds: milliseconds) }

  /// Reads partitions from offsets to their ends, or until `body` returns false.
  ///
  /// A marker of a transaction after the last record is not delivered; the end of the partition, or a later record, is.
  ///
  /// - Parameters:
  ///   - ranges: by partition, the offsets to read.
  ///   - onPoll: called after each poll.
  /// - Throws: ``DaemonError`` if no record has arrived for too long; `KafkaError`; errors of `body`.
  func read(
    _ ranges: [Int32: Range<Int64>],
    onPoll: () -> Void = {},
    _ body: (Message) throws -> Bool
  ) throws {
    let ranges = ranges.filter { !$0.value.isEmpty }
    var ends = ranges.mapValues(\.upperBound)
    try reader.remove(opened)
    opened = []
    try reader.add(ranges.mapValues(\.lowerBound))
    opened = Set(ranges.keys)
    var lastSign = MonotonicClock.milliseconds()
    var count = 0
    while !ends.isEmpty {
      guard !StopRequest.process.isRequested else {
        throw ReplayError(.interrupted, "interrupted before the end of \(topic), after \(count) records")
      }
      let now = MonotonicClock.milliseconds()
      guard now - lastSign < patienceMilliseconds else {
        throw DaemonError.silence(of: topic, milliseconds: patienceMilliseconds)
      }
      var result: Result<Bool, any Error> = .success(true)
      let events = try reader.read(timeoutMilliseconds: Self.pollMilliseconds) { message in
        lastSign = now
        count += 1
        guard let end = ends[message.partition] else { return true }
        if message.offset < end {
          result = Result { try body(message) }
          guard case .success(true) = result else { return false }
        }
        if message.offset + 1 >= end { ends[message.partition] = nil }
        return true
      }
      guard try result.get() else { return }
      for partition in events?.ends.keys ?? [:].keys { ends[partition] = nil }
      if let failure = events?.failure { throw failure }
      onPoll()
    }
  }
}

extension WorkerThread {
  /// Runs a body that calls librdkafka, which blocks, on a separate thread.
  ///
  /// - Parameter name: the thread's name.
  /// - Throws: ``ConfigurationError`` for `kafka.*`; the errors of `body`; Kafka errors as ``ConfigurationError`` or ``DaemonError``.
  static func withKafka<Result: Sendable>(
    _ name: String,
    _ configuration: FeedStoreConfiguration,
    _ body: @Sendable (KafkaSettings) throws -> Result
  ) async throws -> Result {
    let settings = try KafkaSettings(configuration)
    let thread = WorkerThread(name: name)
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in
      do {
        return try body(settings)
      } catch let error as KafkaError {
        throw error.configurationOrDaemonError
      }
    }
  }
}
