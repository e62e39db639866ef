import Testing

@testable import Kafka

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
