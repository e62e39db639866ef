import CRdkafka
import Glibc

public struct TopicPartition: Hashable, Sendable, CustomStringConvertible {
  public var topic: String
  /// The number of the partition, from 0.
  public var partition: Int32

  public init(topic: String, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }

  public var description: String { "\(topic) [\(partition)]" }
}

/// A position in a partition: the offset of the next record to read.
public struct TopicPartitionOffset: Hashable, Sendable, CustomStringConvertible {
  public var topic: String
  /// The number of the partition, from 0.
  public var partition: Int32
  /// An offset from 0, or one of the logical offsets `beginning` and `end`.
  public var offset: Int64

  public init(topic: String, partition: Int32, offset: Int64) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
  }

  public init(_ partition: TopicPartition, offset: Int64) {
    self.init(topic: partition.topic, partition: partition.partition, offset: offset)
  }

  public var topicPartition: TopicPartition { TopicPartition(topic: topic, partition: partition) }

  public var description: String { "\(topic) [\(partition)] @ \(offset)" }

  /// The oldest record.
  public static let beginning = Int64(RD_KAFKA_OFFSET_BEGINNING)
  /// After the newest record.
  public static let end = Int64(RD_KAFKA_OFFSET_END)
}

/// A group's committed position in a partition.
public struct CommittedOffset: Hashable, Sendable {
  /// The offset of the next record to read.
  public var offset: Int64
  /// Metadata stored with the offset, by default at most 4096 bytes (`offset.metadata.max.bytes`); empty for none.
  public var metadata: String

  public init(_ offset: Int64, metadata: String = "") {
    self.offset = offset
    self.metadata = metadata
  }
}

extension [TopicPartition: CommittedOffset] {
  /// The places, for messages.
  var text: String {
    map { TopicPartitionOffset($0.key, offset: $0.value.offset).description }.sorted().joined(separator: ", ")
  }
}

/// librdkafka's list of partitions with offsets, destroyed with this value.
struct TopicPartitionList: ~Copyable {
  let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

  init(taking pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) { self.pointer = pointer }

  init(_ partitions: some Collection<TopicPartition>) {
    self.init(partitions.map { TopicPartitionOffset($0, offset: Int64(RD_KAFKA_OFFSET_INVALID)) })
  }

  init(_ offsets: some Collection<TopicPartitionOffset>) {
    pointer = rd_kafka_topic_partition_list_new(Int32(offsets.count))
    for offset in offsets {
      let entry = rd_kafka_topic_partition_list_add(pointer, offset.topic, offset.partition)!
      entry.pointee.offset = offset.offset
    }
  }

  init(_ offsets: [TopicPartition: CommittedOffset]) {
    pointer = rd_kafka_topic_partition_list_new(Int32(offsets.count))
    for (partition, committed) in offsets {
      let entry = rd_kafka_topic_partition_list_add(pointer, partition.topic, partition.partition)!
      entry.pointee.offset = committed.offset
      guard !committed.metadata.isEmpty, let metadata = strdup(committed.metadata) else { continue }
      // librdkafka frees it together with the list.
      entry.pointee.metadata = UnsafeMutableRawPointer(metadata)
      entry.pointee.metadata_size = strlen(metadata)
    }
  }

  deinit { rd_kafka_topic_partition_list_destroy(pointer) }

  var partitions: [TopicPartition] { Self.partitions(of: pointer) }

  /// A group's committed offsets; partitions without one are left out.
  ///
  /// - Throws: the first error in an entry, with its partition.
  func committed(_ action: @autoclosure () -> String) throws(KafkaError) -> [TopicPartition: CommittedOffset]
  {
    try check(action())
    var result: [TopicPartition: CommittedOffset] = [:]
    for index in 0..<Int(pointer.pointee.cnt) {
      let entry = pointer.pointee.elems[index]
      guard entry.offset >= 0 else { continue }
      let metadata = UnsafeRawBufferPointer(start: entry.metadata, count: entry.metadata_size)
      result[Self.partition(of: entry)] = CommittedOffset(
        entry.offset,
        metadata: String(decoding: metadata, as: UTF8.self)
      )
    }
    return result
  }

  /// Throws the first error in an entry, with its partition.
  func check(_ action: @autoclosure () -> String) throws(KafkaError) {
    for index in 0..<Int(pointer.pointee.cnt) {
      let entry = pointer.pointee.elems[index]
      try KafkaError.check(entry.err, "\(action()) of \(Self.partition(of: entry))")
    }
  }

  /// The partitions of a list that librdkafka owns.
  static func partitions(
    of pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
  ) -> [TopicPartition] {
    (0..<Int(pointer.pointee.cnt)).map { partition(of: pointer.pointee.elems[$0]) }
  }

  private static func partition(of entry: rd_kafka_topic_partition_t) -> TopicPartition {
    TopicPartition(topic: String(cString: entry.topic), partition: entry.partition)
  }
}

/// The numbers of partitions of topics, and the topics that do not exist.
public struct TopicMetadata: Sendable, Hashable {
  /// The number of partitions of each topic that exists.
  public var partitionCounts: [String: Int32] = [:]

  /// The topics that do not exist or are not visible to the client, in the order of the request.
  public var missing: [String] = []
}
