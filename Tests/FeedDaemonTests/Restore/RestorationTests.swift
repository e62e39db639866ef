import FeedConfiguration
import Kafka
import Testing

@testable import FeedDaemon
@testable import FeedKafka

struct RestorationTests {
  private static func items(_ partition: Int32) -> TopicPartition {
    TopicPartition(topic: "items", partition: partition)
  }
  private static func sections(_ partition: Int32) -> TopicPartition {
    TopicPartition(topic: "sections", partition: partition)
  }

  @Test func `an offset beyond what a broker says there is`() throws {
    var restoration = Restoration()
    #expect(!restoration.isCommittedBeyond(Watermarks(low: 0, high: 0)))
    restoration.assign([Self.items(0), Self.items(1)])
    restoration.locate([Self.items(0): CommittedOffset(5)])
    #expect(restoration.isCommittedBeyond(Watermarks(low: 0, high: 4)))
    #expect(!restoration.isCommittedBeyond(Watermarks(low: 0, high: 5)))
    try restoration.measure(Watermarks(low: 0, high: 5), .fail)
    #expect(!restoration.isCommittedBeyond(Watermarks(low: 0, high: 0)))
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

    restoration.locate([inputs[0]: CommittedOffset(5), inputs[2]: CommittedOffset(7)])
    for input in inputs {
      #expect(restoration.step == .measure(input))
      try restoration.measure(Watermarks(low: 3, high: 10), .fail)
    }
    #expect(restoration.starts.map(\.position.offset) == [5, 3, 7, 3])
    #expect(
      restoration.starts.map(\.finding) == [.committed, .noneCommitted, .committed, .noneCommitted]
    )

    // Each changesets partition once, whatever the number of inputs.
    #expect(restoration.step == .bound(partition: 0))
    restoration.bound(Watermarks(low: 0, high: 100))
    #expect(restoration.step == .bound(partition: 2))
    restoration.bound(Watermarks(low: 8, high: 20))
    let opened = restoration.partitions
    #expect(opened.map(\.number) == [0, 2])
    #expect(opened.map(\.end) == [100, 20])
    #expect(opened.map(\.position) == [0, 8])
    #expect(restoration.step == .open(opened))
    restoration.open()

    #expect(restoration.step == .read)
    restoration.advance(to: [0: 60, 2: 12])
    #expect(restoration.step == .read)
    #expect(restoration.unread.map(\.remaining) == [40, 8])
    restoration.advance(to: [0: 40])
    #expect(restoration.partitions.map(\.position) == [60, 12], "it never goes back")
    // The last record is at 97; the markers of transactions take up the rest.
    restoration.advance(to: [0: 98])
    #expect(restoration.step == .read)
    restoration.advance(to: [0: 100, 2: 20])
    #expect(restoration.step == .takeOver(partition: 0))
    restoration.takeOver(partition: 0)
    #expect(restoration.step == .takeOver(partition: 2))
    restoration.takeOver(partition: 2)

    #expect(restoration.step == .resume(restoration.starts.map(\.position)))
    #expect(restoration.isUnderWay)
    restoration.finish()
    #expect(restoration.step == .nothing)
    #expect(!restoration.isUnderWay)
  }

  @Test func `a partition that is kept back does not hold up the others`() {
    var restoration = Self.reading(ends: [10, 10, 10])
    // An open transaction keeps back what follows offset 3.
    restoration.advance(to: [1: 3])
    restoration.advance(to: [0: 10])
    #expect(restoration.step == .takeOver(partition: 0))
    restoration.takeOver(partition: 0)
    restoration.advance(to: [2: 10])
    #expect(restoration.step == .takeOver(partition: 2))
    restoration.takeOver(partition: 2)
    #expect(restoration.step == .read)
    #expect(restoration.unread.map(\.number) == [1])
    // But the input is read only when all feeds are there.
    restoration.advance(to: [1: 10])
    restoration.takeOver(partition: 1)
    #expect(restoration.step == .resume(restoration.starts.map(\.position)))
  }

  @Test func `a partition that cannot be restored is left out, and no other`() {
    var restoration = Self.reading(ends: [10, 10, 10])
    restoration.advance(to: [0: 4, 2: 10])
    restoration.stop(partition: 0, Self.unreadable)
    #expect(restoration.stopped == [0: Self.unreadable])
    #expect(restoration.unread.map(\.number) == [1])
    // What is told of it later means nothing.
    restoration.advance(to: [0: 10])
    #expect(restoration.step == .takeOver(partition: 2))
    // Read to the end, its feeds may turn out to lack something.
    restoration.stop(partition: 2, Self.unreadable)
    #expect(restoration.step == .read)
    restoration.advance(to: [1: 10])
    restoration.takeOver(partition: 1)
    #expect(restoration.resumed.map(\.position.partition) == [1])
    #expect(restoration.step == .resume(restoration.resumed.map(\.position)))
    restoration.finish()
    #expect(!restoration.isUnderWay)
    #expect(restoration.stopped.keys.sorted() == [0, 2])

    // Who has the partition next tries it again.
    restoration.assign([Self.items(0)])
    #expect(restoration.stopped.isEmpty)
    #expect(restoration.step == .locate([Self.items(0)]))
  }

  @Test func `where no partition can be restored, no input is read`() {
    var restoration = Self.reading(ends: [10])
    restoration.stop(partition: 0, Self.unreadable)
    #expect(restoration.step == .resume([]))
  }

  @Test func `how far changesets reach at least goes with the offsets`() throws {
    var restoration = Restoration()
    let inputs = [Self.items(0), Self.sections(0), Self.items(1)]
    restoration.assign(inputs)
    restoration.locate([
      inputs[0]: CommittedOffset(5, metadata: "changesets=7"),
      inputs[1]: CommittedOffset(5, metadata: "changesets=9"),
      inputs[2]: CommittedOffset(5, metadata: "somebody else's"),
    ])
    #expect(restoration.leastEnd(of: 0) == 9)
    #expect(restoration.leastEnd(of: 1) == 0)
    #expect(restoration.leastEnd(of: 2) == 0)
  }

  @Test func `a partition that ends too early is left out before anything is read`() {
    var restoration = Self.bounding([0, 1])
    restoration.stop(partition: 0, Self.unreadable)
    #expect(restoration.step == .bound(partition: 1))
    restoration.bound(Watermarks(low: 0, high: 5))
    #expect(restoration.step == .open([RestoredPartition(1, Watermarks(low: 0, high: 5))]))
    restoration.open()
    restoration.advance(to: [1: 5])
    restoration.takeOver(partition: 1)
    #expect(restoration.step == .resume(restoration.resumed.map(\.position)))
    #expect(restoration.resumed.map(\.position.partition) == [1])

    var alone = Self.bounding([0])
    alone.stop(partition: 0, Self.unreadable)
    #expect(alone.step == .resume([]))
  }

  private static let unreadable = DaemonError(.unreadableChangesets, "no record")

  @Test func `an empty partition is not read`() {
    var restoration = Self.bounding([0, 1])
    restoration.bound(Watermarks(low: 8, high: 8))
    restoration.bound(Watermarks(low: 0, high: 5))
    #expect(restoration.step == .open([RestoredPartition(1, Watermarks(low: 0, high: 5))]))
    restoration.open()
    #expect(restoration.step == .takeOver(partition: 0))
    restoration.takeOver(partition: 0)
    #expect(restoration.step == .read)

    var empty = Self.bounding([0])
    empty.bound(Watermarks(low: 8, high: 8))
    #expect(empty.step == .takeOver(partition: 0), "nothing is opened")
  }

  @Test func `records that come while it reads are no reason to read on for ever`() {
    var restoration = Self.reading(ends: [10])
    restoration.advance(to: [0: 25])
    #expect(restoration.step == .takeOver(partition: 0))
    #expect(restoration.partitions.map(\.remaining) == [0])
  }

  @Test func `what is told of partitions that are somebody else's means nothing`() {
    var restoration = Self.reading(ends: [10])
    restoration.advance(to: [7: 25])
    #expect(restoration.step == .read)
  }

  @Test func `a step that failed is the same step again`() {
    let bounding = Self.bounding([0, 1])
    #expect(bounding.step == .bound(partition: 0))
    #expect(bounding.step == .bound(partition: 0))
    let reading = Self.reading(ends: [10])
    #expect(reading.step == .read)
    #expect(reading.step == .read)
  }

  @Test func `no partitions are restored at once`() {
    var restoration = Restoration()
    restoration.assign([])
    #expect(restoration.step == .resume([]))
    restoration.finish()
    #expect(!restoration.isUnderWay)
  }

  @Test func `partitions that go in the middle leave nothing, and new ones start from the front`() {
    var restoration = Self.reading(ends: [10, 10])
    restoration.advance(to: [0: 10, 1: 4])
    restoration.takeOver(partition: 0)
    restoration.release()
    #expect(restoration.state == .idle)
    #expect(restoration.step == .nothing)
    #expect(restoration.starts.isEmpty)
    #expect(restoration.partitions.isEmpty)

    restoration.assign([Self.items(1)])
    #expect(restoration.step == .locate([Self.items(1)]))

    var other = Self.reading(ends: [10])
    other.assign([Self.items(7)])
    #expect(other.step == .locate([Self.items(7)]))
    #expect(other.partitions.isEmpty)
  }

  @Test func `input that is lost stops before anything is restored`() {
    var restoration = Restoration()
    restoration.assign([Self.items(1)])
    restoration.locate([Self.items(1): CommittedOffset(5)])
    let error = #expect(throws: DaemonError.self) {
      try restoration.measure(Watermarks(low: 9, high: 20), .fail)
    }
    #expect(error?.code == .lostInput)
  }

  /// Where the ends of changesets partitions are wanted.
  private static func bounding(_ partitions: [Int32]) -> Restoration {
    var restoration = Restoration()
    restoration.assign(partitions.map(items))
    restoration.locate([:])
    for _ in partitions {
      #expect(throws: Never.self) { try restoration.measure(Watermarks(low: 0, high: 0), .fail) }
    }
    return restoration
  }

  /// Where partitions from 0, which begin at 0 and have these ends, are read.
  private static func reading(ends: [Int64]) -> Restoration {
    var restoration = bounding(ends.indices.map { Int32($0) })
    for end in ends { restoration.bound(Watermarks(low: 0, high: end)) }
    restoration.open()
    return restoration
  }
}
