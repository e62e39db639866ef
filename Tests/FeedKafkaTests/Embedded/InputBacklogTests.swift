import Kafka
import Testing

@testable import FeedKafka

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
