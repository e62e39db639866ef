import CRdkafka

/// Gives each topic of a client a small number, so that nobody compares names record by record.
///
/// It holds a reference to every topic it knows: librdkafka's pointer to a topic then cannot come to mean
/// another one. `removeAll` must be called before the client is destroyed.
struct TopicTable {
  private var topics: [(pointer: OpaquePointer, name: String)] = []

  /// The last answer, looked at first: neighbours are mostly of one topic.
  private var last = 0

  var count: Int { topics.count }

  func name(at index: Int) -> String { topics[index].name }

  /// librdkafka's handle of a topic that is in the table.
  func pointer(at index: Int) -> OpaquePointer { topics[index].pointer }

  /// The number of the topic that a message points to; a new one if it is not known yet.
  mutating func index(of pointer: OpaquePointer, client: OpaquePointer) -> Int? {
    if last < topics.count, topics[last].pointer == pointer {
      return last
    }
    if let index = topics.firstIndex(where: { $0.pointer == pointer }) {
      last = index
      return index
    }
    return index(ofName: String(cString: rd_kafka_topic_name(pointer)), client: client)
  }

  /// The number of the topic with this name; a new one if it is not known yet, nil if the name is not valid.
  mutating func index(ofName name: String, client: OpaquePointer) -> Int? {
    if last < topics.count, topics[last].name == name {
      return last
    }
    if let index = topics.firstIndex(where: { $0.name == name }) {
      last = index
      return index
    }
    guard let pointer = rd_kafka_topic_new(client, name, nil) else { return nil }
    topics.append((pointer, name))
    last = topics.count - 1
    return last
  }

  mutating func removeAll() {
    for topic in topics {
      rd_kafka_topic_destroy(topic.pointer)
    }
    topics = []
    last = 0
  }
}
