import CRdkafka
import FeedStore
import Kafka
import ObservationSupport

extension TestTopics {
  /// Adds partitions to topics, up to a number.
  func addPartitions(to names: [String], upTo count: Int) throws {
    let configuration = rd_kafka_conf_new()
    for (name, value) in client.properties.map({ ($0.name, $0.value) }) {
      let result = rd_kafka_conf_set(configuration, name, value, nil, 0)
      try BrokerFailure.check(result == RD_KAFKA_CONF_OK, "\(name) cannot be \(value)")
    }
    guard let client = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, nil, 0) else {
      throw BrokerFailure("the client could not be made")
    }
    defer { rd_kafka_destroy(client) }
    var partitions: [OpaquePointer?] = names.map { rd_kafka_NewPartitions_new($0, count, nil, 0) }
    defer { rd_kafka_NewPartitions_destroy_array(&partitions, partitions.count) }
    let queue = rd_kafka_queue_new(client)
    defer { rd_kafka_queue_destroy(queue) }
    rd_kafka_CreatePartitions(client, &partitions, partitions.count, nil, queue)
    let event = rd_kafka_queue_poll(queue, 120_000)
    defer { rd_kafka_event_destroy(event) }
    try BrokerFailure.check(
      rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR,
      "no partitions were added"
    )
    var found = 0
    let results = rd_kafka_CreatePartitions_result_topics(
      rd_kafka_event_CreatePartitions_result(event),
      &found
    )
    for index in 0..<found {
      let code = rd_kafka_topic_result_error(results?[index])
      try BrokerFailure.check(code == RD_KAFKA_RESP_ERR_NO_ERROR, "\(names): \(code)")
    }
  }

  /// Deletes a topic and creates it again under its name.
  func recreate(_ name: String) throws {
    let admin = try AdminClient(configuration: client, log: { _, _, _ in })
    let failures = try admin.deleteTopics([name], timeoutMilliseconds: 120_000)
    try BrokerFailure.check(failures.isEmpty, "\(failures.values)")
    // Brokers need a moment to forget it.
    while true {
      let topic = TopicSpecification(name, partitions: partitions)
      guard let error = try admin.createTopics([topic], timeoutMilliseconds: 120_000)[name] else { break }
      try BrokerFailure.check(error.kind == .topicAlreadyExists, "\(error)")
    }
    try admin.close(timeoutMilliseconds: 120_000)
  }
}
