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
}
