import CRdkafka

/// librdkafka's list of topics to delete, destroyed with this object.
final class DeletedTopicList {
  private(set) var pointers: [OpaquePointer?]

  init(_ topics: [String]) {
    pointers = topics.map { rd_kafka_DeleteTopic_new($0) }
  }

  deinit {
    rd_kafka_DeleteTopic_destroy_array(&pointers, pointers.count)
  }
}
