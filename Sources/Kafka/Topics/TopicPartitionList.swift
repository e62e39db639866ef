import CRdkafka

/// librdkafka's list of partitions with offsets, destroyed with this value.
struct TopicPartitionList: ~Copyable {
  let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

  /// Takes over a list that librdkafka made.
  init(taking pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) {
    self.pointer = pointer
  }

  init(_ partitions: some Collection<TopicPartition>) {
    pointer = rd_kafka_topic_partition_list_new(Int32(partitions.count))
    for partition in partitions {
      _ = rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition)
    }
  }

  init(_ offsets: some Collection<TopicPartitionOffset>) {
    pointer = rd_kafka_topic_partition_list_new(Int32(offsets.count))
    for offset in offsets {
      rd_kafka_topic_partition_list_add(pointer, offset.topic, offset.partition).pointee.offset =
        offset.offset
    }
  }

  deinit {
    rd_kafka_topic_partition_list_destroy(pointer)
  }

  var partitions: [TopicPartition] { Self.partitions(of: pointer) }

  /// The offsets, nil where librdkafka has none.
  ///
  /// - Throws: the first error that an entry carries, naming its partition.
  func offsets(_ action: @autoclosure () -> String) throws(KafkaError) -> [TopicPartition: Int64?] {
    try check(action())
    var result: [TopicPartition: Int64?] = [:]
    for index in 0..<Int(pointer.pointee.cnt) {
      let entry = pointer.pointee.elems[index]
      result.updateValue(entry.offset >= 0 ? entry.offset : nil, forKey: Self.partition(of: entry))
    }
    return result
  }

  /// Throws the first error that an entry carries, naming its partition.
  func check(_ action: @autoclosure () -> String) throws(KafkaError) {
    for index in 0..<Int(pointer.pointee.cnt) {
      let entry = pointer.pointee.elems[index]
      try KafkaError.check(entry.err, "\(action()) of \(Self.partition(of: entry))")
    }
  }

  /// The partitions of a list that librdkafka keeps.
  static func partitions(
    of pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
  ) -> [TopicPartition] {
    (0..<Int(pointer.pointee.cnt)).map { partition(of: pointer.pointee.elems[$0]) }
  }

  private static func partition(of entry: rd_kafka_topic_partition_t) -> TopicPartition {
    TopicPartition(topic: String(cString: entry.topic), partition: entry.partition)
  }
}
