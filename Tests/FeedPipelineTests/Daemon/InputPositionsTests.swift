import Kafka
import Testing

@testable import FeedPipeline

struct InputPositionsTests {
  private let first = TopicPartition(topic: "feeds.items", partition: 0)
  private let second = TopicPartition(topic: "feeds.items", partition: 1)

  @Test func `before a commit, reading begins again where it began`() {
    var positions = InputPositions()
    positions.note(second, offset: 7)
    positions.note(first, offset: 3)
    positions.note(first, offset: 90)
    #expect(positions.resume == [.init(first, offset: 3), .init(second, offset: 7)])
  }

  @Test func `after a commit, it begins again behind what was committed`() {
    var positions = InputPositions()
    positions.note(first, offset: 3)
    positions.note(second, offset: 7)
    positions.commit([.init(first, offset: 50)])
    positions.note(first, offset: 60)
    #expect(positions.resume == [.init(first, offset: 50), .init(second, offset: 7)])
  }

  @Test func `partitions that are gone are forgotten`() {
    var positions = InputPositions()
    positions.note(first, offset: 3)
    positions.removeAll()
    #expect(positions.resume.isEmpty)
    positions.note(first, offset: 9)
    #expect(positions.resume == [.init(first, offset: 9)])
  }
}
