import CRdkafka

/// librdkafka's list of topics whose settings are read, destroyed with this object.
final class TopicResourceList {
  private(set) var pointers: [OpaquePointer?]

  init(_ topics: [String]) {
    pointers = topics.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
  }

  deinit {
    rd_kafka_ConfigResource_destroy_array(&pointers, pointers.count)
  }
}
