import Feed
import FeedConfiguration
import FeedKafka
import FeedStore
import FeedVerification
import Kafka
import Service

/// Verifies the committed records of a cluster's changesets topic, as of the start. It belongs to one thread.
final class TopicVerification {
  private let reader: TopicReader
  private var ends: [Int32: Int64] = [:]
  /// The names and values of one record's headers.
  private let headerBytes = ByteWriter(capacity: 1024)

  private static let patienceMilliseconds: Int64 = 60_000

  init(_ settings: KafkaSettings, _ configuration: FeedStoreConfiguration, log: Log) throws(KafkaError) {
    reader = try TopicReader(
      settings,
      configuration,
      topic: (configuration.store.topics.changesets, "topics.changesets"),
      patienceMilliseconds: Self.patienceMilliseconds,
      log: log
    )
  }

  /// Reads every partition up to its current last stable offset, so that no transaction is read in part.
  ///
  /// - Throws: ``KafkaError``; ``DaemonError`` if the topic does not exist or sends nothing.
  func run(_ verifier: FaultReporter) throws {
    try open()
    var progress = ProgressBar("verifying", total: nil, now: MonotonicClock.nanoseconds())
    defer { progress.finish() }
    var bytes: Int64 = 0
    while !ends.isEmpty {
      let batch = try reader.poll()
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
      progress.update(bytes, now: MonotonicClock.nanoseconds())
    }
    try reader.close()
  }

  private func open() throws {
    var starts: [Int32: Int64] = [:]
    for partition in 0..<(try reader.partitionCount()) {
      let marks = try reader.watermarks(partition)
      guard marks.low < marks.high else { continue }
      ends[partition] = marks.high
      starts[partition] = marks.low
    }
    try reader.begin(at: starts)
  }

  private func take(_ message: Message, _ verifier: FaultReporter) {
    guard let end = ends[message.partition] else { return }
    // Later records are left to a later run. A transaction marker after the last record is not delivered; the end of
    // the partition, or a later record, is.
    guard message.offset < end else {
      ends[message.partition] = nil
      return
    }
    verifier.check(
      VerifiedRecord(
        key: message.key.map { ByteSpan($0) },
        value: message.payload.map { ByteSpan($0) },
        headers: headers(message),
        // A topic setting determines what the timestamp means, so it is not verified.
        timestamp: nil,
        place: VerificationPlace(source: Int(message.partition), position: message.offset)
      ),
      in: message.partition
    )
    if message.offset + 1 == end { ends[message.partition] = nil }
  }

  /// Copies of the headers, valid until the next record.
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
