import CRdkafka
import FeedStore
import Kafka
import ObservationSupport

/// A member of the daemons' group that assigns partitions by `range`, as daemons once did.
///
/// Unchecked: librdkafka's functions may be called from any thread.
final class RangeMember: @unchecked Sendable {
  private let client: OpaquePointer

  init(_ topics: TestTopics) throws(BrokerFailure) {
    let settings =
      topics.client.properties.map { ($0.name, $0.value) } + [
        ("group.id", topics.prefix), ("partition.assignment.strategy", "range"),
        ("enable.auto.commit", "false"),
      ]
    let configuration = rd_kafka_conf_new()
    for (name, value) in settings {
      let result = rd_kafka_conf_set(configuration, name, value, nil, 0)
      try BrokerFailure.check(result == RD_KAFKA_CONF_OK, "\(name) cannot be \(value)")
    }
    // It has no callbacks, so what it is assigned it takes by itself.
    guard let client = rd_kafka_new(RD_KAFKA_CONSUMER, configuration, nil, 0) else {
      throw BrokerFailure("the member could not be made")
    }
    self.client = client
    let names = rd_kafka_topic_partition_list_new(2)
    defer { rd_kafka_topic_partition_list_destroy(names) }
    for name in [topics.names.sections, topics.names.items] {
      rd_kafka_topic_partition_list_add(names, name, RD_KAFKA_PARTITION_UA)
    }
    let result = rd_kafka_subscribe(client, names)
    try BrokerFailure.check(result == RD_KAFKA_RESP_ERR_NO_ERROR, "\(result)")
  }

  /// Whether the group has given it partitions.
  var hasPartitions: Bool {
    var partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    guard rd_kafka_assignment(client, &partitions) == RD_KAFKA_RESP_ERR_NO_ERROR, let partitions else {
      return false
    }
    defer { rd_kafka_topic_partition_list_destroy(partitions) }
    return partitions.pointee.cnt > 0
  }

  /// Leaves the group.
  func leave() throws(BrokerFailure) {
    let result = rd_kafka_consumer_close(client)
    try BrokerFailure.check(result == RD_KAFKA_RESP_ERR_NO_ERROR, "\(result)")
  }

  deinit { rd_kafka_destroy(client) }
}
