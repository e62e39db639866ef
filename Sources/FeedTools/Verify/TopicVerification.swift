import Feed
import FeedKafka
import Kafka
import Service

/// Verifies the changesets topic of a cluster: what is committed in it at the beginning. It belongs to one
/// thread.
final class TopicVerification {
  private let topic: String
  private let log: Log
  private let wait: TopicWait
  private let consumer: Consumer
  private let batch: MessageBatch
  private var ends: [Int32: Int64] = [:]
  /// Names and values of one record's headers.
  private let headerBytes = ByteWriter(capacity: 1024)

  private static let timeoutMilliseconds: Int32 = 10_000
  private static let pollMilliseconds: Int32 = 100
  private static let closeMilliseconds: Int32 = 2_000
  /// How long nothing may come before the end.
  private static let patienceMilliseconds: Int64 = 60_000
  /// Few enough that parts of nearly a megabyte each are not hoarded.
  private static let batchCapacity = 100

  /// - Parameter wait: how long to ask for the topic.
  init(_ settings: KafkaSettings, topic: String, wait: TopicWait, log: Log) throws(KafkaError) {
    self.topic = topic
    self.wait = wait
    self.log = log
    consumer = try Consumer(
      configuration: settings.restorer,
      isolationLevel: .readCommitted,
      log: log.kafkaHandler
    )
    batch = consumer.makeBatch(capacity: Self.batchCapacity)
  }

  /// Reads every partition to where it ends now: at the last record before any open transaction, so that no
  /// transaction is seen in part.
  ///
  /// - Throws: ``KafkaError``; ``DaemonError`` if the topic is not there, or nothing comes of it.
  func run(_ verifier: FaultTelling) throws {
    try open()
    var progress = ProgressBar("verifying", total: nil, now: MonotonicClock.nanoseconds())
    defer { progress.finish() }
    var bytes: Int64 = 0
    var lastSign = MonotonicClock.milliseconds()
    while !ends.isEmpty {
      try consumer.poll(into: batch, timeoutMilliseconds: Self.pollMilliseconds)
      for index in 0..<batch.count {
        let message = batch[index]
        bytes += Int64(message.size)
        take(message, verifier)
      }
      for event in batch.events {
        switch event {
        case .endOfPartition(_, let partition, _): ends[partition] = nil
        case .error(let error): if !error.isRetriable { throw error }
        }
      }
      let now = MonotonicClock.milliseconds()
      if !batch.isEmpty { lastSign = now }
      guard now - lastSign < Self.patienceMilliseconds else {
        throw DaemonError.silence(of: topic, milliseconds: Self.patienceMilliseconds)
      }
      progress.update(bytes, now: MonotonicClock.nanoseconds())
    }
    try consumer.close(timeoutMilliseconds: Self.closeMilliseconds)
  }

  private func open() throws {
    let metadata = try consumer.metadata(
      [topic],
      waiting: wait,
      batch,
      timeoutMilliseconds: Self.timeoutMilliseconds,
      log
    )
    guard let count = metadata.partitionCounts[topic] else {
      throw DaemonError(
        .missingTopic,
        "topic \(topic) does not exist, or may not be read; set topics.changesets to its name"
      )
    }
    var starts: [TopicPartitionOffset] = []
    for partition in 0..<count {
      let place = TopicPartition(topic: topic, partition: partition)
      let marks = try consumer.queryWatermarks(place, timeoutMilliseconds: Self.timeoutMilliseconds)
      guard marks.low < marks.high else { continue }
      ends[partition] = marks.high
      starts.append(TopicPartitionOffset(topic: topic, partition: partition, offset: marks.low))
    }
    try consumer.assign(starts)
  }

  private func take(_ message: Message, _ verifier: FaultTelling) {
    guard let end = ends[message.partition] else { return }
    // What was written since is a later run's. After the last record there may be a transaction's marker, which
    // is not told: the end of the partition is, or what comes after.
    guard message.offset < end else {
      ends[message.partition] = nil
      return
    }
    verifier.check(
      VerifiedRecord(
        key: message.key.map { ByteSpan($0) },
        value: message.payload.map { ByteSpan($0) },
        headers: headers(message),
        // The topic's setting decides whose time it is.
        timestamp: nil,
        place: VerificationPlace(source: Int(message.partition), position: message.offset)
      ),
      in: message.partition
    )
    if message.offset + 1 == end { ends[message.partition] = nil }
  }

  /// Copies of the headers that stay until the next record.
  private func headers(_ message: Message) -> [ByteSpan?] {
    headerBytes.removeAll()
    var ranges: [Range<Int>?] = []
    func append(_ bytes: some Collection<UInt8>) {
      let start = headerBytes.count
      for byte in bytes { headerBytes.append(byte) }
      ranges.append(start..<headerBytes.count)
    }
    for header in message.headers() {
      append(header.name.utf8)
      if let value = header.value { append(value) } else { ranges.append(nil) }
    }
    return ranges.map { $0.map { headerBytes.span($0) } }
  }
}
