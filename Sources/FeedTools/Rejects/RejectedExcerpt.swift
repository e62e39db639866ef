public import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
public import Service

/// `feedstore rejects show`: one record of the rejected topic, in full.
public struct RejectedExcerpt: Sendable {
  /// Its position, its headers and the size of its value, one per line.
  public let details: String
  /// The bytes of its value; nil for a null.
  public let value: [UInt8]?

  /// Reads the record.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if there is no such record, or the topic sends nothing.
  public static func read(
    _ place: RejectedPlace,
    _ configuration: FeedStoreConfiguration,
    log: Log
  ) async throws -> RejectedExcerpt {
    let settings = try KafkaSettings(configuration)
    return try await WorkerThread.withKafka("rejects") {
      let reader = try RejectedReader(settings, configuration, log: log)
      defer { reader.close() }
      let copy = try reader.copy(at: place)
      return RejectedExcerpt(details: RejectedLine.details(copy, topic: reader.topic), value: copy.value)
    }
  }

  /// The value as text without terminal control characters.
  public var printableValue: String {
    guard let value else { return "" }
    return String(decoding: value, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      .map { UpdateText.printable(String($0)) }.joined(separator: "\n") + "\n"
  }
}
