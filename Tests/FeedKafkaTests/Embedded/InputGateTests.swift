import Kafka
import Testing

@testable import FeedKafka

struct ProduceCreditTests {
  /// Which of these requests pass; nil renews the credit.
  private func taken(_ requests: [Int?]) -> [Bool] {
    var credit = ProduceCredit()
    return requests.compactMap { bytes in
      guard let bytes else {
        credit.renew()
        return nil
      }
      return credit.take(bytes)
    }
  }

  @Test func `requests pass until the credit is used up`() {
    #expect(taken([ProduceCredit.bytes - 10, 11, 10, 1, nil, 1]) == [true, false, true, false, true])
  }

  @Test func `a request larger than the credit passes alone`() {
    #expect(taken([.max, 1, nil, 1, .max]) == [true, false, true, false])
  }
}

struct ProduceHeadTests {
  private static let client: [UInt8] = [0, 2, 0x61, 0x62]

  @Test(
    arguments: [
      (0, [0, 1]), (2, [0xFF, 0xFF]), (3, [0xFF, 0xFF, 0xFF, 0xFF]), (7, [0xFF, 0xFF, 0, 1]),
      (8, [0, 1, 0x78, 0, 1]),
    ] as [(UInt32, [UInt8])]
  )
  func `a request with acknowledgements is answered`(version: UInt32, rest: [UInt8]) {
    #expect(ProduceHead.wantsAnswer(version: version, Self.client + rest))
    #expect(ProduceHead.wantsAnswer(version: version, [0xFF, 0xFF] + rest + [0, 0, 0, 0]))
  }

  @Test(
    arguments: [
      (0, [0, 0]), (3, [0xFF, 0xFF, 0, 0]), (7, [0, 1, 0x78, 0, 0]), (9, [0xFF, 0xFF, 0, 1]),
      (3, [0xFF, 0xFF]),
      (3, [0x7F, 0xFF, 0, 1]), (0, []), (0, [0]),
    ] as [(UInt32, [UInt8])]
  )
  func `a request without acknowledgements, or an unreadable one, is not answered`(
    version: UInt32,
    rest: [UInt8]
  ) {
    #expect(!ProduceHead.wantsAnswer(version: version, Self.client + rest))
  }
}

struct InputBacklogTests {
  private static let first = TopicPartition(topic: "feeds.items", partition: 0)
  private static let second = TopicPartition(topic: "feeds.items", partition: 1)

  @Test func `before the first assignment, all input is unread`() {
    let backlog = InputBacklog()
    #expect(backlog.firstUnread([Self.first: 0, Self.second: 0]) == nil)
    #expect(backlog.firstUnread([Self.first: 0, Self.second: 1]) == Self.second)
  }

  @Test func `an assigned partition is unread until it has been read to its end`() {
    let backlog = InputBacklog()
    backlog.assign([Self.first], to: 0)
    backlog.assign([Self.second], to: 1)
    #expect(
      backlog.firstUnread([Self.first: 0]) == Self.first,
      "it is not known yet where the reading begins"
    )
    backlog.read([Self.first: 4], by: 0)
    backlog.read([Self.second: 9], by: 1)
    #expect(backlog.firstUnread([Self.first: 4, Self.second: 9]) == nil)
    #expect(backlog.firstUnread([Self.first: 5, Self.second: 9]) == Self.first)
    #expect(backlog.firstUnread([Self.first: 4, Self.second: 10]) == Self.second)
  }

  @Test func `partitions of members in other processes count as read`() {
    let backlog = InputBacklog()
    backlog.assign([Self.first], to: 0)
    backlog.read([Self.first: 4, Self.second: 1], by: 0)
    #expect(backlog.firstUnread([Self.first: 4, Self.second: 100]) == nil)
    backlog.assign([], to: 0)
    #expect(backlog.firstUnread([Self.first: 100, Self.second: 100]) == nil)
  }

  @Test func `an assignment replaces the previous one`() {
    let backlog = InputBacklog()
    backlog.assign([Self.first], to: 0)
    backlog.read([Self.first: 4], by: 0)
    backlog.assign([Self.first, Self.second], to: 0)
    backlog.read([Self.second: 2], by: 0)
    #expect(backlog.firstUnread([Self.first: 4, Self.second: 2]) == Self.first)
    backlog.read([Self.first: 4], by: 0)
    #expect(backlog.firstUnread([Self.first: 4, Self.second: 2]) == nil)
  }
}

struct GatedConnectionTests {
  private func replaced(_ answer: [UInt8]) -> [UInt8] {
    var answer = answer
    GatedConnection.replaceAddresses(in: &answer, of: 0x1234, by: 0xABCD)
    return answer
  }

  @Test func `the broker's address is replaced by the gate's, wherever it is`() {
    let host = Array("127.0.0.1".utf8)
    let answer = [1, 0, 9] + host + [0, 0, 0x12, 0x34, 7, 10] + host + [0, 0, 0x12, 0x34]
    #expect(replaced(answer) == [1, 0, 9] + host + [0, 0, 0xAB, 0xCD, 7, 10] + host + [0, 0, 0xAB, 0xCD])
  }

  @Test func `nothing else changes`() {
    let host = Array("127.0.0.1".utf8)
    for answer in [
      [], host, host + [0, 0, 0x12], host + [0, 0, 0x12, 0x35], host + [0, 1, 0x12, 0x34],
      [0, 0, 0x12, 0x34],
      Array("127.0.0.2".utf8) + [0, 0, 0x12, 0x34],
    ] as [[UInt8]] {
      #expect(replaced(answer) == answer)
    }
  }
}
