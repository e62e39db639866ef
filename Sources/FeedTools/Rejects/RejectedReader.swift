import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
import Service

extension TopicReader {
  /// A reader of the rejected topic.
  static func ofRejected(
    _ settings: KafkaSettings,
    _ configuration: FeedStoreConfiguration,
    log: Log
  ) throws(KafkaError) -> TopicReader {
    try TopicReader(
      settings,
      configuration,
      topic: (configuration.store.topics.rejected, "topics.rejected"),
      patienceMilliseconds: 30_000,
      log: log
    )
  }

  /// The record at a position.
  ///
  /// - Throws: ``DaemonError`` with the existing offsets if there is none; `KafkaError`.
  func rejectedCopy(at place: RejectedPlace) throws -> RejectedCopy {
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
    try read([place.partition: place.offset..<marks.high]) { message in
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
