import Diagnostics
import Feed
import FeedConfiguration
import FeedKafka
import FeedStore
import FeedVerification
import Kafka
import OperatingSystem

/// Verifies the committed records of a cluster's changesets topic, as of the start. It belongs to one thread.
final class TopicVerification {
  private let reader: TopicReader
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
  /// - Throws: ``KafkaError``; ``DaemonError`` if the topic does not exist or no records arrive.
  func run(_ verifier: FaultReporter) throws {
    let ranges = try reader.wholePartitions()
    var progress = ProgressBar("verifying", total: nil, now: MonotonicClock.nanoseconds())
    defer { progress.finish() }
    var bytes: Int64 = 0
    try reader.read(ranges) {
      progress.update(bytes, now: MonotonicClock.nanoseconds())
    } _: { message in
      bytes += Int64(message.size)
      take(message, verifier)
      return true
    }
    try reader.close()
  }

  private func take(_ message: Message, _ verifier: FaultReporter) {
    verifier.check(
      VerifiedRecord(
        key: message.key.map { ByteSpan($0) },
        value: message.payload.map { ByteSpan($0) },
        headers: headers(message),
        // A topic setting determines the meaning of the timestamp, so it is not verified.
        timestamp: nil,
        location: VerificationLocation(source: Int(message.partition), position: message.offset)
      ),
      in: message.partition
    )
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
