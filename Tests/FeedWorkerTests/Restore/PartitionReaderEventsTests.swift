import Testing

@testable import Changesets
@testable import Kafka

struct PartitionReaderEventsTests {
  private typealias Events = PartitionReader.Events

  @Test func `an end of a partition counts also beside an error`() {
    var events = Events()
    events.add(.error(.make(.unknown, "read 2")))
    events.add(.endOfPartition(topic: 0, partition: 1, offset: 7))
    events.add(.error(.make(.unknownTopicOrPartition, "read 3")))
    #expect(events.ends == [1: 7])
    #expect(events.failure?.kind == .unknown)
  }

  @Test func `a retriable error is not a failure`() {
    var events = Events()
    events.add(.error(.make(.transport, "read")))
    #expect(events.failure == nil)
  }
}
