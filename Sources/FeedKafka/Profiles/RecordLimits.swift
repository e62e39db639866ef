package import Diagnostics
package import Kafka

/// The size limits of brokers, so that a larger record is rejected before it is sent. It belongs to its producer's
/// thread.
package final class RecordLimits {
  private let settings: KafkaSettings
  private let producer: Producer
  private let log: Log
  /// The client's limit.
  private let messageBytes: Int
  /// The limit of each queried topic; nil if unknown.
  private var topics: [String: Int?] = [:]

  package init(_ settings: KafkaSettings, _ producer: Producer, log: Log) {
    self.settings = settings
    self.producer = producer
    self.log = log
    messageBytes = settings.producer["message.max.bytes"].flatMap { Int($0) } ?? .max
  }

  /// Why a record is too large, with the remedy; nil if it is not, or if only its broker can know.
  ///
  /// - Parameters:
  ///   - bytes: the size of key, value and headers.
  ///   - topic: a topic whose metadata the producer has read.
  package func refusal(ofBytes bytes: Int, to topic: String) -> String? {
    if bytes > messageBytes {
      return
        "has \(bytes) bytes, and kafka.message.max.bytes is \(messageBytes); raise it, or send a smaller record"
    }
    // The size after compression is unknown.
    guard bytes > TopicRequirements.usualMessageBytes, !settings.compresses else { return nil }
    if producer.isOnEmbeddedCluster {
      guard bytes > EmbeddedBroker.greatestRecordBytes else { return nil }
      return """
        has \(bytes) bytes, and the embedded broker takes at most \(EmbeddedBroker.greatestRecordBytes); send a smaller \
        record, or use Kafka
        """
    }
    guard let limit = limit(of: topic), bytes > limit else { return nil }
    return
      "has \(bytes) bytes, and max.message.bytes of \(topic) is \(limit); raise it, or send a smaller record"
  }

  private func limit(of topic: String) -> Int? {
    if let known = topics[topic] { return known }
    var limit: Int?
    if let admin = try? AdminClient(configuration: settings.admin, log: log.kafkaHandler) {
      let answers = try? admin.describeConfigurations(
        [topic],
        timeoutMilliseconds: TopicInspection.settingsMilliseconds
      )
      if case .success(let settings)? = answers?[topic] {
        limit = settings["max.message.bytes"].flatMap { Int($0) }
      }
      try? admin.close(timeoutMilliseconds: Self.closeMilliseconds)
    }
    topics[topic] = limit
    return limit
  }

  private static let closeMilliseconds: Int32 = 1_000
}

/// The maximum batch size, which is reduced when brokers refuse larger batches.
///
/// A broker refuses a batch that is larger than a segment of its topic (`RECORD_LIST_TOO_LARGE`); the client does not
/// know that limit. Once batches have one record each, a refusal means that a record is too large.
package struct BatchLimit: Equatable {
  /// In bytes; nil until a batch is refused.
  package private(set) var bytes: Int?

  package init() {}

  /// Whether batches are limited to one record.
  package var isLeast: Bool { bytes == 1 }

  /// Reduces the limit to a tenth, after a batch was refused.
  ///
  /// - Parameter configured: the limit before the first refusal.
  package mutating func shrink(from configured: Int) { bytes = max(1, (bytes ?? configured) / 10) }
}

/// A copy of bytes at a fixed address, for calls that take pointers; nil stays nil.
package struct OwnedBytes: ~Copyable {
  @usableFromInline let storage: UnsafeMutableRawBufferPointer?

  /// - Parameter count: the number of bytes to use, from the first.
  @inlinable
  package init(_ bytes: [UInt8]?, first count: Int = .max) {
    guard let bytes = bytes?.prefix(count) else {
      storage = nil
      return
    }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    copy.copyBytes(from: bytes)
    storage = copy
  }

  @inlinable
  deinit { storage?.deallocate() }

  /// Valid as long as this value.
  @inlinable package var bytes: UnsafeRawBufferPointer? { storage.map { UnsafeRawBufferPointer($0) } }
}
