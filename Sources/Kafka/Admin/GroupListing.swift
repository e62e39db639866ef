import CRdkafka

/// Lists the members of consumer groups.
///
/// Not `rd_kafka_DescribeConsumerGroups`: if a broker closes the connection during that request, librdkafka frees the
/// result before using it, and an assertion may end the process (librdkafka issue 4605, open in 2.0.2 and later). This
/// older call asks every broker; those without the group return an empty list.
enum GroupListing {
  private static let pauseMilliseconds: Int32 = 50

  /// The group's members, within this timeout; none if no broker has it. Brokers that do not answer in time are ignored if the
  /// group's coordinator did.
  ///
  /// - Throws: why no broker answered, or the error of the group's coordinator, with the group's name.
  static func members(
    _ client: OpaquePointer,
    of group: String,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [GroupMember] {
    let list = try ask(client, group, Deadline(milliseconds: timeoutMilliseconds))
    defer { rd_kafka_group_list_destroy(list) }
    let groups = UnsafeBufferPointer(start: list.pointee.groups, count: Int(list.pointee.group_cnt))
    guard let found = groups.first(where: { text($0.group) == group }) else { return [] }
    try KafkaError.check(found.err, "describe group \(group)")
    return UnsafeBufferPointer(start: found.members, count: Int(found.member_cnt)).map { member in
      let assignment = UnsafeRawBufferPointer(
        start: member.member_assignment,
        count: Int(member.member_assignment_size)
      )
      return GroupMember(
        memberID: text(member.member_id),
        clientID: text(member.client_id),
        host: text(member.client_host),
        // A member without partitions has no assignment yet, and other protocols have other formats.
        partitions: MemberAssignment(assignment)?.partitions ?? []
      )
    }
  }

  private static func text(_ bytes: UnsafePointer<CChar>?) -> String {
    bytes.map { String(cString: $0) } ?? ""
  }

  /// Repeats the request until there is a result. librdkafka fails the whole request if one broker refuses connections.
  /// Its reconnect backoff grows, and such a broker is then left out.
  private static func ask(
    _ client: OpaquePointer,
    _ group: String,
    _ deadline: Deadline
  ) throws(KafkaError) -> UnsafePointer<rd_kafka_group_list> {
    var failure: KafkaErrorCode?
    while true {
      var list: UnsafePointer<rd_kafka_group_list>?
      let code = rd_kafka_list_groups(client, group, &list, deadline.remainingMilliseconds)
      if let list {
        if code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__PARTIAL { return list }
        rd_kafka_group_list_destroy(list)
      }
      guard code == RD_KAFKA_RESP_ERR__TRANSPORT, !deadline.hasPassed else {
        // The remaining time may be too short for the last request.
        let isCutShort = code == RD_KAFKA_RESP_ERR__TIMED_OUT
        let kind = isCutShort ? failure ?? KafkaErrorCode(code) : KafkaErrorCode(code)
        throw .make(kind, "describe group \(group)", client: client)
      }
      failure = KafkaErrorCode(code)
      _ = rd_kafka_poll(client, min(pauseMilliseconds, deadline.remainingMilliseconds))
    }
  }
}

/// A member of a consumer group, as the group's coordinator knows it.
public struct GroupMember: Sendable, Equatable {
  public let memberID: String
  public let clientID: String
  /// The address of its client, as the brokers see it.
  public let host: String
  public let partitions: [TopicPartition]

  /// Creates a member, for tests.
  public init(memberID: String = "", clientID: String, host: String, partitions: [TopicPartition]) {
    self.memberID = memberID
    self.clientID = clientID
    self.host = host
    self.partitions = partitions
  }
}

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
