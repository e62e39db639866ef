import FeedConfiguration
import Kafka
import Testing

@testable import FeedKafka
@testable import FeedTransactions
@testable import FeedWorker

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
    restoration.setOffsets([Self.items(0): CommittedOffset(5)])
    #expect(restoration.isCommittedBeyond(Watermarks(low: 0, high: 4)))
    #expect(!restoration.isCommittedBeyond(Watermarks(low: 0, high: 5)))
    try restoration.setInputEnds(Watermarks(low: 0, high: 5), .fail)
    #expect(!restoration.isCommittedBeyond(Watermarks(low: 0, high: 0)))
  }

  @Test func `from the assignment to the input, step by step`() throws {
    var restoration = Restoration()
    restoration.assign([])
    #expect(restoration.step == .nothing)
    #expect(!restoration.isUnderWay)

    restoration.assign([Self.sections(2), Self.items(2), Self.sections(0), Self.items(0)])
    #expect(restoration.isUnderWay)
    let inputs = [Self.items(0), Self.sections(0), Self.items(2), Self.sections(2)]
    // The offsets come first: what belongs to them is in the changesets topic then.
    #expect(restoration.step == .requestOffsets(inputs))

    restoration.setOffsets([inputs[0]: CommittedOffset(5), inputs[2]: CommittedOffset(7)])
    var starts: [InputStart] = []
    for input in inputs {
      #expect(restoration.step == .requestInputEnds(input))
      starts.append(try restoration.setInputEnds(Watermarks(low: 3, high: 10), .fail))
    }
    #expect(starts.map(\.position.offset) == [5, 3, 7, 3])
    #expect(starts.map(\.finding) == [.committed, .noneCommitted, .committed, .noneCommitted])

    // Each changesets partition once, whatever the number of inputs.
    #expect(restoration.step == .requestEnd(partition: 0))
    restoration.setEnd(Watermarks(low: 0, high: 100))
    #expect(restoration.step == .requestEnd(partition: 2))
    restoration.setEnd(Watermarks(low: 8, high: 20))
    let opened = restoration.unread
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
    #expect(restoration.unread.map(\.position) == [60, 12], "it never goes back")
    // The last record is at 97; the markers of transactions take up the rest.
    restoration.advance(to: [0: 98])
    #expect(restoration.step == .read)
    restoration.advance(to: [0: 100, 2: 20])
    #expect(restoration.step == .takeOver(partition: 0))
    restoration.takeOver(partition: 0)
    #expect(restoration.step == .takeOver(partition: 2))
    restoration.takeOver(partition: 2)

    #expect(restoration.step == .resume(starts))
    #expect(restoration.isUnderWay)
    restoration.finish()
    #expect(restoration.state(of: 0) == nil && restoration.state(of: 2) == nil)
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
    // Its input is read while the others are still restored.
    #expect(Self.resumed(restoration) == [0])
    restoration.finish()
    restoration.advance(to: [2: 10])
    #expect(restoration.step == .takeOver(partition: 2))
    restoration.takeOver(partition: 2)
    #expect(Self.resumed(restoration) == [2])
    restoration.finish()
    #expect(restoration.step == .read)
    #expect(restoration.unread.map(\.number) == [1])
    restoration.advance(to: [1: 10])
    restoration.takeOver(partition: 1)
    #expect(Self.resumed(restoration) == [1])
    restoration.finish()
    #expect(!restoration.isUnderWay)
  }

  @Test func `partitions that come while others are restored catch up with them`() throws {
    var restoration = Self.reading(ends: [10])
    restoration.advance(to: [0: 4])
    restoration.assign([Self.items(3)])
    #expect(restoration.step == .requestOffsets([Self.items(3)]))
    restoration.setOffsets([:])
    #expect(restoration.step == .requestInputEnds(Self.items(3)))
    try restoration.setInputEnds(Watermarks(low: 0, high: 0), .fail)
    #expect(restoration.step == .requestEnd(partition: 3))
    restoration.setEnd(Watermarks(low: 0, high: 7))
    #expect(restoration.step == .open([RestoreRange(3, Watermarks(low: 0, high: 7))]))
    restoration.open()
    #expect(restoration.unread.map(\.position) == [4, 0])
    restoration.advance(to: [3: 7])
    #expect(restoration.step == .takeOver(partition: 3))
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
    #expect(Self.resumed(restoration) == [1])
    restoration.finish()
    #expect(!restoration.isUnderWay)
    #expect(restoration.stopped.keys.sorted() == [0, 2])

    // Who has the partition next tries it again.
    restoration.assign([Self.items(0)])
    #expect(restoration.stopped.keys.sorted() == [2])
    #expect(restoration.step == .requestOffsets([Self.items(0)]))
  }

  @Test func `how far changesets reach at least goes with the offsets`() throws {
    var restoration = Restoration()
    let inputs = [Self.items(0), Self.sections(0), Self.items(1), Self.items(2), Self.sections(2)]
    restoration.assign(inputs)
    restoration.setOffsets([
      inputs[0]: CommittedOffset(5, metadata: "changesets=7"),
      inputs[1]: CommittedOffset(5, metadata: "changesets=9"),
      inputs[2]: CommittedOffset(5, metadata: "somebody else's"),
      inputs[3]: CommittedOffset(5, metadata: "changesets=9223372036854775807 end=6 partitions=4"),
      inputs[4]: CommittedOffset(5, metadata: "changesets=8 partitions=4"),
    ])
    #expect((0...3).map { restoration.leastEnd(of: $0) } == [9, 0, 8, 0])
    #expect(restoration.metadata(of: inputs[3]).partitions == 4)
  }

  @Test func `a partition that ends too early is left out before anything is read`() {
    var restoration = Self.needingEnd([0, 1])
    restoration.stop(partition: 0, Self.unreadable)
    #expect(restoration.step == .requestEnd(partition: 1))
    restoration.setEnd(Watermarks(low: 0, high: 5))
    #expect(restoration.step == .open([RestoreRange(1, Watermarks(low: 0, high: 5))]))
    restoration.open()
    restoration.advance(to: [1: 5])
    restoration.takeOver(partition: 1)
    #expect(Self.resumed(restoration) == [1])

    // Where no partition can be restored, no input is read.
    for var alone in [Self.needingEnd([0]), Self.reading(ends: [10])] {
      alone.stop(partition: 0, Self.unreadable)
      #expect(alone.step == .nothing)
      #expect(!alone.isUnderWay)
    }
  }

  @Test func `input that feeds have read beyond its end begins again, if so configured`() throws {
    var restoration = Restoration()
    let ends = Watermarks(low: 0, high: 3)
    restoration.assign([Self.items(0), Self.sections(0)])
    restoration.setOffsets([:])
    for _ in 0..<2 { try restoration.setInputEnds(ends, .fail) }
    #expect(restoration.starts(of: 0).map(\.end) == [3, 3])
    #expect(throws: DaemonError.self) {
      _ = try restoration.restart(Self.sections(0), taken: 7, ends, .fail)
    }
    let start = try restoration.restart(Self.sections(0), taken: 7, ends, .continue)
    #expect(start.position.topicPartition == Self.sections(0))
    #expect(restoration.starts(of: 0).map(\.isRestarted) == [false, true])
  }

  @Test func `a partition that is not to be read is left out before its offsets are asked for`() {
    var restoration = Restoration()
    restoration.assign([Self.items(0), Self.items(7)])
    restoration.stop(partition: 7, Self.unreadable)
    #expect(restoration.step == .requestOffsets([Self.items(0)]))
    #expect(restoration.stopped == [7: Self.unreadable])
  }

  @Test func `what was committed with an offset is known until the partition goes`() {
    var restoration = Restoration()
    restoration.assign([Self.items(0)])
    #expect(restoration.metadata(of: Self.items(0)) == CommitMetadata(""))
    restoration.setOffsets([Self.items(0): CommittedOffset(5, metadata: "partitions=2")])
    #expect(restoration.metadata(of: Self.items(0)).partitions == 2)
    restoration.release([0])
    #expect(restoration.metadata(of: Self.items(0)) == CommitMetadata(""))
  }

  private static let unreadable = DaemonError(.unreadableChangesets, "no record")

  @Test func `an empty partition is not read`() {
    var restoration = Self.needingEnd([0, 1])
    restoration.setEnd(Watermarks(low: 8, high: 8))
    restoration.setEnd(Watermarks(low: 0, high: 5))
    #expect(restoration.step == .open([RestoreRange(1, Watermarks(low: 0, high: 5))]))
    restoration.open()
    #expect(restoration.step == .takeOver(partition: 0))
    restoration.takeOver(partition: 0)
    #expect(Self.resumed(restoration) == [0])
    restoration.finish()
    #expect(restoration.step == .read)

    var empty = Self.needingEnd([0])
    empty.setEnd(Watermarks(low: 8, high: 8))
    #expect(empty.step == .takeOver(partition: 0), "nothing is opened")
  }

  @Test func `records that come while it reads, or of other partitions, are no reason to read on for ever`() {
    var restoration = Self.reading(ends: [10])
    restoration.advance(to: [7: 25])
    #expect(restoration.step == .read)
    restoration.advance(to: [0: 25])
    #expect(restoration.step == .takeOver(partition: 0))
    #expect(restoration.unread.isEmpty)
  }

  @Test func `partitions that go in the middle leave nothing, and others go on`() {
    var restoration = Self.reading(ends: [10, 10, 10])
    restoration.advance(to: [0: 10, 1: 4, 2: 5])
    restoration.takeOver(partition: 0)
    restoration.release([0, 1])
    #expect(restoration.state(of: 0) == nil && restoration.state(of: 1) == nil)
    #expect(restoration.step == .read)
    #expect(restoration.unread.map(\.number) == [2])
    // What comes late means nothing.
    restoration.advance(to: [1: 10])
    #expect(restoration.step == .read)

    restoration.assign([Self.items(1)])
    #expect(restoration.step == .requestOffsets([Self.items(1)]))
    restoration.release([1, 2])
    #expect(restoration.step == .nothing)
  }

  @Test func `a partition that is restored once more starts from the front`() {
    var restoration = Self.reading(ends: [10])
    restoration.advance(to: [0: 10])
    restoration.takeOver(partition: 0)
    restoration.finish()
    restoration.assign([Self.items(0)])
    #expect(restoration.step == .requestOffsets([Self.items(0)]))
  }

  @Test func `input that is lost stops before anything is restored`() {
    var restoration = Restoration()
    restoration.assign([Self.items(1)])
    restoration.setOffsets([Self.items(1): CommittedOffset(5)])
    let error = #expect(throws: DaemonError.self) {
      try restoration.setInputEnds(Watermarks(low: 9, high: 20), .fail)
    }
    #expect(error?.code == .lostInput)
  }

  /// The partitions whose input is to be resumed next.
  private static func resumed(_ restoration: Restoration) -> [Int32] {
    guard case .resume(let starts) = restoration.step else { return [] }
    return starts.map(\.position.partition)
  }

  /// Where the ends of changesets partitions are wanted.
  private static func needingEnd(_ partitions: [Int32]) -> Restoration {
    var restoration = Restoration()
    restoration.assign(partitions.map(items))
    restoration.setOffsets([:])
    for _ in partitions {
      #expect(throws: Never.self) { _ = try restoration.setInputEnds(Watermarks(low: 0, high: 0), .fail) }
    }
    return restoration
  }

  /// Where partitions from 0, which begin at 0 and have these ends, are read.
  private static func reading(ends: [Int64]) -> Restoration {
    var restoration = needingEnd(ends.indices.map { Int32($0) })
    for end in ends { restoration.setEnd(Watermarks(low: 0, high: end)) }
    restoration.open()
    return restoration
  }

  @Test func `what was followed is gone on from`() {
    var restoration = Self.needingEnd([3])
    restoration.setEnd(Watermarks(low: 2, high: 9), from: 6)
    #expect(restoration.usesStandby(3))
    let opened = restoration.unread
    #expect(opened.map(\.position) == [6])
    #expect(opened.map(\.remaining) == [3])
    #expect(restoration.step == .open(opened))
    restoration.open()
    restoration.advance(to: [3: 9])
    #expect(restoration.step == .takeOver(partition: 3))
  }

  @Test func `what was followed to its end is taken over, and not read`() {
    var restoration = Self.needingEnd([3])
    restoration.setEnd(Watermarks(low: 2, high: 9), from: 9)
    #expect(restoration.step == .takeOver(partition: 3))
  }

  @Test func `what was followed and is of no use is read from its beginning, once`() {
    var restoration = Self.needingEnd([3])
    #expect(restoration.mayUseStandby(3))
    restoration.setEnd(Watermarks(low: 2, high: 9), from: 6)
    restoration.open()
    let isBegun = restoration.startOver(partition: 3)
    #expect(isBegun)
    #expect(!restoration.usesStandby(3))
    #expect(!restoration.mayUseStandby(3))
    #expect(restoration.step == .requestEnd(partition: 3))
    restoration.setEnd(Watermarks(low: 2, high: 9))
    #expect(restoration.unread.map(\.position) == [2])
    restoration.open()
    // Nor is a partition started over if it is not restored.
    for partition in [Int32(3), 4] {
      let isBegun = restoration.startOver(partition: partition)
      #expect(!isBegun)
    }
    #expect(restoration.step == .read)
  }
}
