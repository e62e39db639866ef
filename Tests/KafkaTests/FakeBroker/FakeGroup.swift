/// A consumer group of a `FakeBroker`.
struct FakeGroup: Sendable {
  struct Member: Sendable {
    var clientID: String
    var host: String
    /// The bytes of its member's assignment.
    var assignment: [UInt8] = []
  }

  var name: String
  /// The error code; 0 for none.
  var error: Int16 = 0
  var members: [Member] = []

  /// Writes the group in the format of DescribeGroups.
  func write(to answer: inout FakeAnswerWriter) {
    answer.append(error)
    answer.append(name)
    for text in ["Stable", "consumer", "range"] { answer.append(text) }
    answer.append(Array(members.enumerated())) { answer, member in
      answer.append("member-\(member.offset)")
      answer.append(member.element.clientID)
      answer.append(member.element.host)
      answer.append(bytes: [])
      answer.append(bytes: member.element.assignment)
    }
  }
}
