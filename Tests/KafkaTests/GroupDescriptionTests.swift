import Testing

@testable import Kafka

/// Listing the members of a consumer group. The embedded brokers do not support it, so a fake one does.
struct GroupDescriptionTests {
  private static let timeoutMilliseconds: Int32 = 120_000

  /// Lists the members of `readers` on a new fake broker.
  private func describe(
    _ answers: FakeAnswers,
    timeoutMilliseconds: Int32 = Self.timeoutMilliseconds
  ) throws -> [GroupMember] {
    let broker = try FakeBroker(answers)
    defer { broker.stop() }
    let admin = try AdminClient(
      configuration: ["bootstrap.servers": broker.bootstrapServers],
      log: Fixture.log
    )
    let members = Result { try admin.describeGroup("readers", timeoutMilliseconds: timeoutMilliseconds) }
    try admin.close(timeoutMilliseconds: Self.timeoutMilliseconds)
    return try members.get()
  }

  /// An assignment as encoded by the group's leader.
  private func assignment(_ topics: [(name: String, partitions: [Int32])]) -> [UInt8] {
    var assignment = FakeAnswerWriter()
    assignment.append(Int16(1))
    assignment.append(topics) {
      $0.append($1.name)
      $0.append($1.partitions) { $0.append($1) }
    }
    assignment.append(bytes: [])
    return assignment.bytes
  }

  @Test func `members are listed with both ids, host and partitions`() throws {
    let group = FakeGroup(
      name: "readers",
      members: [
        FakeGroup.Member(
          clientID: "feedstore@http://host-1:8321",
          host: "/10.0.0.1",
          assignment: assignment([("feeds.items", [0, 2]), ("feeds.sections", [2])])
        ),
        FakeGroup.Member(clientID: "é", host: "", assignment: assignment([("feeds.items", [1])])),
      ]
    )
    let others = ["reader", "readers-2"].map {
      FakeGroup(name: $0, members: [FakeGroup.Member(clientID: $0, host: "/10.0.0.9")])
    }
    let members = try describe(FakeAnswers(groups: [others[0], group, others[1]]))
    #expect(
      members == [
        GroupMember(
          memberID: "member-0",
          clientID: "feedstore@http://host-1:8321",
          host: "/10.0.0.1",
          partitions: [("feeds.items", 0), ("feeds.items", 2), ("feeds.sections", 2)].map {
            TopicPartition(topic: $0.0, partition: $0.1)
          }
        ),
        GroupMember(
          memberID: "member-1",
          clientID: "é",
          host: "",
          partitions: [TopicPartition(topic: "feeds.items", partition: 1)]
        ),
      ]
    )
  }

  @Test func `a group that no broker lists has no members`() throws {
    let other = FakeGroup(name: "others", members: [FakeGroup.Member(clientID: "a", host: "b")])
    #expect(try describe(FakeAnswers(groups: [other])).isEmpty)
    #expect(try describe(FakeAnswers()).isEmpty)
    #expect(try describe(FakeAnswers(groups: [FakeGroup(name: "readers")])).isEmpty)
  }

  @Test func `a member without a valid assignment has no partitions`() throws {
    let whole = assignment([("feeds.items", [0])])
    let unread: [[UInt8]] = [[], assignment([]), [0xff], Array("{\"a\":1}".utf8), whole.dropLast(5)]
    let members = unread.enumerated().map {
      FakeGroup.Member(clientID: "\($0.offset)", host: "h", assignment: $0.element)
    }
    let told = try describe(FakeAnswers(groups: [FakeGroup(name: "readers", members: members)]))
    #expect(
      told
        == unread.indices.map {
          GroupMember(memberID: "member-\($0)", clientID: "\($0)", host: "h", partitions: [])
        }
    )
  }

  /// 30 is GROUP_AUTHORIZATION_FAILED, 15 COORDINATOR_NOT_AVAILABLE.
  @Test(arguments: [30, 15] as [Int16])
  func `an error of the group or of the listing names the group`(code: Int16) throws {
    let refused = FakeGroup(name: "readers", error: code)
    for answers in [FakeAnswers(groups: [refused]), FakeAnswers(listingError: code)] {
      let error = #expect(throws: KafkaError.self) { try describe(answers) }
      #expect(error?.kind.rawValue == Int32(code))
      #expect(error?.message.contains("could not describe group readers: ") == true)
    }
  }

  @Test(arguments: FakeAnswers.Request.allCases)
  func `a broker that does not answer in time is an error that names the group`(
    unanswered: FakeAnswers.Request
  ) throws {
    let answers = FakeAnswers(groups: [FakeGroup(name: "readers")], unanswered: unanswered)
    let error = #expect(throws: KafkaError.self) { try describe(answers, timeoutMilliseconds: 300) }
    #expect(error?.kind == .timedOut)
    #expect(error?.message.contains("could not describe group readers: ") == true)
  }

  @Test func `a broker that does not answer, or refuses connections, does not hide another's answer`() throws
  {
    let silent = try FakeBroker(FakeAnswers(unanswered: .apiVersions))
    defer { silent.stop() }
    let group = FakeGroup(name: "readers", members: [FakeGroup.Member(clientID: "a", host: "b")])
    // Nothing listens on port 1. The silent broker is waited for until the timeout.
    for (port, timeout) in [(silent.port, 5_000), (1, Self.timeoutMilliseconds)] {
      let members = try describe(FakeAnswers(groups: [group], others: [port]), timeoutMilliseconds: timeout)
      #expect(members.map(\.clientID) == ["a"])
    }
  }
}

struct MemberAssignmentTests {
  /// Version 1, topics "a" with partitions 0 and 258 and "bc" with 7, no bytes from the assignor.
  private static let written: [UInt8] =
    [0, 1] + [0, 0, 0, 2]
    + [0, 1, 0x61] + [0, 0, 0, 2] + [0, 0, 0, 0] + [0, 0, 1, 2]
    + [0, 2, 0x62, 0x63] + [0, 0, 0, 1] + [0, 0, 0, 7]
    + [0xff, 0xff, 0xff, 0xff]

  private func partitions(_ bytes: [UInt8]) -> [TopicPartition]? {
    bytes.withUnsafeBytes { MemberAssignment($0)?.partitions }
  }

  @Test func `partitions are read topic by topic, whatever the assignor adds`() {
    let expected = [("a", 0), ("a", 258), ("bc", 7)].map { TopicPartition(topic: $0.0, partition: $0.1) }
    #expect(partitions(Self.written) == expected)
    #expect(partitions(Self.written.dropLast(4) + [0, 0, 0, 3, 9, 9, 9]) == expected)
    #expect(partitions([0, 0] + [0, 0, 0, 0]) == [])
  }

  @Test func `truncated bytes or too large counts are not an assignment`() {
    #expect(partitions([]) == nil)
    for length in 0..<(Self.written.count - 4) {
      #expect(partitions(Array(Self.written.prefix(length))) == nil)
    }
    #expect(partitions([0, 0] + [0x7f, 0xff, 0xff, 0xff]) == nil)
    #expect(partitions([0, 0] + [0, 0, 0, 1] + [0xff, 0xff]) == nil)
    #expect(partitions([0, 0] + [0, 0, 0, 1] + [0, 1, 0x61] + [0x7f, 0xff, 0xff, 0xff]) == nil)
  }
}
