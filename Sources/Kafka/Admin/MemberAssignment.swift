/// The assignment of a member of a consumer group, as encoded by the group's leader.
///
/// Kafka's `ConsumerProtocolAssignment`, in all versions: an INT16 version, an ARRAY of topics (each a STRING and an
/// ARRAY of INT32 partitions), and the assignor's own bytes. Big-endian, each length before its content.
struct MemberAssignment: Equatable {
  let partitions: [TopicPartition]

  /// nil if the bytes are not a valid assignment.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    guard Self.take(Int16.self, &rest) != nil, let topicCount = Self.take(Int32.self, &rest) else {
      return nil
    }
    var partitions: [TopicPartition] = []
    // Too large a count makes the decoding fail at the end of the bytes.
    for _ in 0..<max(0, topicCount) {
      guard let length = Self.take(Int16.self, &rest), length >= 0, rest.count >= length else { return nil }
      let topic = String(decoding: rest.prefix(Int(length)), as: UTF8.self)
      rest = rest.dropFirst(Int(length))
      guard let count = Self.take(Int32.self, &rest) else { return nil }
      for _ in 0..<max(0, count) {
        guard let partition = Self.take(Int32.self, &rest) else { return nil }
        partitions.append(TopicPartition(topic: topic, partition: partition))
      }
    }
    self.partitions = partitions
  }

  private static func take<Integer: FixedWidthInteger>(
    _ type: Integer.Type,
    _ rest: inout Slice<UnsafeRawBufferPointer>
  ) -> Integer? {
    let size = MemoryLayout<Integer>.size
    guard rest.count >= size else { return nil }
    defer { rest = rest.dropFirst(size) }
    return Integer(
      bigEndian: UnsafeRawBufferPointer(rebasing: rest.prefix(size)).loadUnaligned(as: Integer.self)
    )
  }
}
