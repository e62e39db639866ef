import CRdkafka

/// What the brokers tell of one consumer group: librdkafka's list, destroyed with this object.
///
/// Not `rd_kafka_DescribeConsumerGroups`: when a broker hangs up on that question, librdkafka frees what the answer
/// is still to use, and the process may end by an assertion (librdkafka issue 4605, open with 2.0.2 and later). This
/// older call asks every broker; those that do not have the group answer with nothing.
final class GroupListing {
  private let list: UnsafePointer<rd_kafka_group_list>
  private let group: String

  /// Asks and waits, for at most this time.
  ///
  /// Brokers that do not answer in time are left out if the one that has the group did.
  ///
  /// - Throws: why no broker told, naming the group.
  init(
    _ client: OpaquePointer,
    of group: String,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    list = try Self.ask(client, group, Deadline(milliseconds: timeoutMilliseconds))
    self.group = group
  }

  /// Asks until there is an answer. Of a broker that refuses connections librdkafka makes the failure of the whole
  /// question; it waits longer and longer before it connects again, and is then left out.
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
        // The last question may be cut short by the time that is left for it.
        let isCutShort = code == RD_KAFKA_RESP_ERR__TIMED_OUT
        let kind = isCutShort ? failure ?? KafkaErrorCode(code) : KafkaErrorCode(code)
        throw .make(kind, "describe group \(group)", client: client)
      }
      failure = KafkaErrorCode(code)
      _ = rd_kafka_poll(client, min(pauseMilliseconds, deadline.remainingMilliseconds))
    }
  }

  private static let pauseMilliseconds: Int32 = 50

  deinit {
    rd_kafka_group_list_destroy(list)
  }

  /// The group's members; none if no broker has it.
  ///
  /// - Throws: why the broker that has it does not tell, naming it.
  func members() throws(KafkaError) -> [GroupMember] {
    let groups = UnsafeBufferPointer(start: list.pointee.groups, count: Int(list.pointee.group_cnt))
    guard let found = groups.first(where: { $0.group.map { String(cString: $0) } == group }) else {
      return []
    }
    guard found.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw .make(KafkaErrorCode(found.err), "describe group \(group)")
    }
    return UnsafeBufferPointer(start: found.members, count: Int(found.member_cnt)).map { member in
      let assignment = UnsafeRawBufferPointer(
        start: member.member_assignment,
        count: Int(member.member_assignment_size)
      )
      return GroupMember(
        clientID: member.client_id.map { String(cString: $0) } ?? "",
        host: member.client_host.map { String(cString: $0) } ?? "",
        // A member that was given nothing yet has no assignment, and one of another protocol has its own.
        partitions: MemberAssignment(assignment)?.partitions ?? []
      )
    }
  }
}
