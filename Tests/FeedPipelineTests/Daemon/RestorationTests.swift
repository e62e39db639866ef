import Kafka
import Testing

@testable import FeedPipeline

struct RestorationTests {
  private static func items(_ partition: Int32) -> TopicPartition {
    TopicPartition(topic: "items", partition: partition)
  }
  private static func sections(_ partition: Int32) -> TopicPartition {
    TopicPartition(topic: "sections", partition: partition)
  }

  @Test func `from the assignment to the input, step by step`() throws {
    var restoration = Restoration()
    #expect(restoration.step == .nothing)
    #expect(!restoration.isUnderWay)

    restoration.assign([Self.sections(2), Self.items(2), Self.sections(0), Self.items(0)])
    #expect(restoration.isUnderWay)
    let inputs = [Self.items(0), Self.sections(0), Self.items(2), Self.sections(2)]
    // The offsets come first: what belongs to them is in the changesets topic then.
    #expect(restoration.step == .locate(inputs))

    restoration.locate([inputs[0]: 5, inputs[1]: nil, inputs[2]: 7])
    for input in inputs {
      #expect(restoration.step == .measure(input))
      try restoration.measure(Watermarks(low: 3, high: 10), .fail)
    }
    #expect(restoration.starts.map(\.position.offset) == [5, 3, 7, 3])
    #expect(
      restoration.starts.map(\.finding) == [.committed, .noneCommitted, .committed, .noneCommitted]
    )

    // Each changesets partition once, whatever the number of inputs.
    #expect(restoration.step == .open(partition: 0))
    restoration.open(Watermarks(low: 0, high: 100))
    #expect(restoration.step == .read(partition: 0))
    restoration.advance(to: 60)
    #expect(restoration.state == .reading(partition: 0, position: 60, high: 100))
    restoration.advance(to: 40)
    #expect(restoration.state == .reading(partition: 0, position: 60, high: 100), "it never goes back")
    // The last record is at 97; the markers of transactions take up the rest.
    restoration.advance(to: 98)
    #expect(restoration.step == .read(partition: 0))
    restoration.advance(to: 100)
    #expect(restoration.step == .takeOver(partition: 0))
    restoration.takeOver()

    #expect(restoration.step == .open(partition: 2))
    restoration.open(Watermarks(low: 8, high: 8))
    #expect(restoration.step == .takeOver(partition: 2), "an empty partition is not read")
    restoration.takeOver()

    #expect(restoration.step == .resume(restoration.starts.map(\.position)))
    #expect(restoration.isUnderWay)
    restoration.finish()
    #expect(restoration.step == .nothing)
    #expect(!restoration.isUnderWay)
  }

  @Test func `records that come while it reads are no reason to read on for ever`() {
    var restoration = Self.reading(high: 10)
    restoration.advance(to: 25)
    #expect(restoration.step == .takeOver(partition: 1))
  }

  @Test func `a step that failed is the same step again`() {
    let restoration = Self.reading(high: 10)
    #expect(restoration.step == .read(partition: 1))
    #expect(restoration.step == .read(partition: 1))
  }

  @Test func `no partitions are restored at once`() {
    var restoration = Restoration()
    restoration.assign([])
    #expect(restoration.step == .resume([]))
    restoration.finish()
    #expect(!restoration.isUnderWay)
  }

  @Test func `partitions that go in the middle leave nothing, and new ones start from the front`() {
    var restoration = Self.reading(high: 10)
    restoration.advance(to: 4)
    restoration.release()
    #expect(restoration.state == .idle)
    #expect(restoration.step == .nothing)
    #expect(restoration.starts.isEmpty)
    #expect(restoration.partitionsLeft.isEmpty)

    restoration.assign([Self.items(1)])
    #expect(restoration.step == .locate([Self.items(1)]))

    var other = Self.reading(high: 10)
    other.assign([Self.items(7)])
    #expect(other.step == .locate([Self.items(7)]))
    #expect(other.partitionsLeft == [7])
  }

  @Test func `input that is lost stops before anything is restored`() {
    var restoration = Restoration()
    restoration.assign([Self.items(1)])
    restoration.locate([Self.items(1): 5])
    let error = #expect(throws: DaemonError.self) {
      try restoration.measure(Watermarks(low: 9, high: 20), .fail)
    }
    #expect(error?.code == .lostInput)
  }

  private static func reading(high: Int64) -> Restoration {
    var restoration = Restoration()
    restoration.assign([items(1)])
    restoration.locate([:])
    #expect(throws: Never.self) { try restoration.measure(Watermarks(low: 0, high: 0), .fail) }
    restoration.open(Watermarks(low: 0, high: high))
    return restoration
  }
}
