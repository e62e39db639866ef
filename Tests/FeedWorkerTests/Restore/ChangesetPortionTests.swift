import Testing

@testable import FeedWorker
@testable import Kafka

struct ChangesetPortionTests {
  private typealias Portion = RestoredPortion

  @Test func `an end of a partition counts also beside an error`() {
    var portion = Portion()
    portion.note(.error(.make(.unknown, "read 2")))
    portion.note(.endOfPartition(topic: 0, partition: 1, offset: 7))
    portion.note(.error(.make(.unknownTopicOrPartition, "read 3")))
    #expect(portion.positions == [1: 7])
    #expect(portion.failure?.kind == .unknown)
  }

  @Test func `an error that passes by itself is none`() {
    var portion = Portion()
    portion.note(.error(.make(.transport, "read")))
    #expect(portion.failure == nil)
  }

  @Test func `an end takes back no record`() {
    var portion = Portion(positions: [1: 9])
    portion.note(.endOfPartition(topic: 0, partition: 1, offset: 7))
    #expect(portion.positions == [1: 9])
  }
}
