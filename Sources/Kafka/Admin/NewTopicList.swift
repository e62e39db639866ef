import CRdkafka

/// librdkafka's list of topics to create, destroyed with this object.
final class NewTopicList {
  private(set) var pointers: [OpaquePointer?] = []

  /// - Throws: `_INVALID_ARG` with the topic and the invalid value.
  init(_ topics: [TopicSpecification]) throws(KafkaError) {
    for topic in topics {
      let (pointer, text) = withErrorText {
        rd_kafka_NewTopic_new(topic.name, topic.partitions, topic.replicationFactor, $0, $1)
      }
      guard let pointer else { throw .make(.invalidArgument, Self.action(topic), detail: text) }
      pointers.append(pointer)
      for (name, value) in topic.configuration.sorted(by: { $0.key < $1.key }) {
        let code = rd_kafka_NewTopic_set_config(pointer, name, value)
        try KafkaError.check(code, "\(Self.action(topic)) and \(name) = \"\(value)\"")
      }
    }
  }

  deinit {
    rd_kafka_NewTopic_destroy_array(&pointers, pointers.count)
  }

  private static func action(_ topic: TopicSpecification) -> String {
    """
    create topic \(topic.name) with \(topic.partitions) partitions, replication \
    factor \(topic.replicationFactor)
    """
  }
}
