import CRdkafka

@testable public import Kafka

extension AdminClient {
  /// Waits until the cluster knows all these topics, or the timeout passes.
  ///
  /// - Returns: the last response; `missing` has the topics that it did not include.
  /// - Throws: the error, if there was no response at all.
  public func waitForTopics(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    var told: TopicMetadata?
    while true {
      do throws(KafkaError) {
        let metadata = try metadata(topics, timeoutMilliseconds: max(1, deadline.remainingMilliseconds))
        if metadata.missing.isEmpty { return metadata }
        told = metadata
      } catch {
        guard error.isRetriable, !deadline.hasPassed || told != nil else { throw error }
      }
      if deadline.hasPassed, let told { return told }
      try pause(milliseconds: 100)
    }
  }

  /// Deletes topics and their records. Brokers may need another moment to forget the topics.
  ///
  /// The brokers also delete the offsets that groups have committed for them.
  ///
  /// - Returns: the topics that were not deleted, with the reasons; empty if all were.
  /// - Throws: `_DESTROY` if the client is closed.
  public func deleteTopics(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: KafkaError] {
    if topics.isEmpty { return [:] }
    var list = topics.map { rd_kafka_DeleteTopic_new($0) }
    defer { rd_kafka_DeleteTopic_destroy_array(&list, list.count) }
    return try request("delete topic", topics, RD_KAFKA_ADMIN_OP_DELETETOPICS, timeoutMilliseconds) {
      rd_kafka_DeleteTopics($0, &list, list.count, $1, $2)
    } read: {
      var count = 0
      let result = rd_kafka_event_DeleteTopics_result($0)
      return Self.topics(rd_kafka_DeleteTopics_result_topics(result, &count), count, "delete topic")
    }.compactMapValues(Self.error)
  }
}
