import Feed
import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
import Service

/// Reads the rejected topic. It belongs to one thread.
final class RejectedReader {
  private let reader: TopicReader

  private static let patienceMilliseconds: Int64 = 30_000

  init(_ settings: KafkaSettings, _ configuration: FeedStoreConfiguration, log: Log) throws(KafkaError) {
    reader = try TopicReader(
      settings,
      configuration,
      topic: (configuration.store.topics.rejected, "topics.rejected"),
      patienceMilliseconds: Self.patienceMilliseconds,
      log: log
    )
  }

  var topic: String { reader.topic }

  func close() { try? reader.close() }

  /// The topic's number of partitions.
  ///
  /// - Throws: ``DaemonError`` if there is no such topic; `KafkaError`.
  func partitionCount() throws -> Int32 { try reader.partitionCount() }

  /// The current first and end offset of a partition. Records of open transactions are after the end.
  func watermarks(_ partition: Int32) throws(KafkaError) -> Watermarks { try reader.watermarks(partition) }

  /// Reads a partition from an offset to its current end, or until `body` returns false.
  ///
  /// - Throws: `KafkaError`; ``DaemonError`` if the topic sends nothing; errors of `body`.
  func read(_ partition: Int32, from start: Int64, to end: Int64, _ body: (Message) throws -> Bool) throws {
    guard start < end else { return }
    try reader.read([partition: start..<end], body)
  }

  /// The record at a position.
  ///
  /// - Throws: ``DaemonError`` with the existing offsets if there is none; `KafkaError`.
  func copy(at place: RejectedPlace) throws -> RejectedCopy {
    let count = try partitionCount()
    guard place.partition < count else {
      throw missing(place, "the topic has the partitions 0 to \(count - 1)")
    }
    let marks = try watermarks(place.partition)
    guard place.offset >= marks.low, place.offset < marks.high else {
      throw missing(
        place,
        marks.low < marks.high
          ? "the partition has the offsets \(marks.low) to \(marks.high - 1); what is older was deleted by its retention"
          : "the partition has no records; earlier ones may have been deleted by its retention"
      )
    }
    var found: RejectedCopy?
    try read(place.partition, from: place.offset, to: marks.high) { message in
      if message.offset == place.offset { found = RejectedCopy(message) }
      return false
    }
    guard let found else {
      throw missing(place, "Kafka uses that offset for the end of a transaction")
    }
    return found
  }

  private func missing(_ place: RejectedPlace, _ reason: String) -> DaemonError {
    DaemonError(
      .missingRecord,
      "there is no record \(place) in \(topic): \(reason); 'feedstore rejects list' lists the records"
    )
  }
}
