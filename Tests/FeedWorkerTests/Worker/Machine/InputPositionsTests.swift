import Kafka
import Testing

@testable import FeedTransactions
@testable import FeedWorker

struct InputPositionsTests {
  private let first = TopicPartition(topic: "feeds.items", partition: 0)
  private let second = TopicPartition(topic: "feeds.items", partition: 1)

  private func take(
    _ positions: inout InputPositions,
    _ partition: TopicPartition,
    _ offsets: ClosedRange<Int64>,
    isNew: Bool,
    location: SourceLocation = #_sourceLocation
  ) {
    let span = InputSpan(partition: partition, first: offsets.lowerBound, last: offsets.upperBound)
    let repeated = positions.take([span])
    #expect(repeated == (isNew ? nil : partition), sourceLocation: location)
  }

  private func reachEnd(
    _ positions: inout InputPositions,
    _ partition: TopicPartition,
    _ offset: Int64,
    isFarther: Bool,
    location: SourceLocation = #_sourceLocation
  ) {
    let end = TopicPartitionOffset(partition, offset: offset)
    #expect(positions.isBefore(end) == isFarther, sourceLocation: location)
    positions.reach([end])
  }

  @Test func `before a commit, reading begins again where it began`() {
    var positions = InputPositions()
    take(&positions, second, 7...7, isNew: true)
    take(&positions, first, 3...3, isNew: true)
    take(&positions, first, 90...90, isNew: true)
    #expect(positions.resume == [.init(first, offset: 3), .init(second, offset: 7)])
  }

  @Test func `after a commit, it begins again behind what was committed`() {
    var positions = InputPositions()
    take(&positions, first, 3...3, isNew: true)
    take(&positions, second, 7...7, isNew: true)
    positions.commit([.init(first, offset: 50)])
    take(&positions, first, 60...60, isNew: true)
    #expect(positions.resume == [.init(first, offset: 50), .init(second, offset: 7)])
  }

  @Test func `partitions that are gone are forgotten`() {
    var positions = InputPositions()
    take(&positions, first, 3...3, isNew: true)
    positions.remove([first.partition, second.partition])
    #expect(positions.resume.isEmpty)
    take(&positions, first, 9...9, isNew: true)
    #expect(positions.resume == [.init(first, offset: 9)])
  }

  @Test func `records that came before are told, and not noted`() {
    var positions = InputPositions()
    positions.begin(at: [.init(first, offset: 40)])
    take(&positions, first, 39...90, isNew: false)
    take(&positions, first, 40...49, isNew: true)
    take(&positions, first, 49...60, isNew: false)
    take(&positions, first, 0...60, isNew: false)
    // What ends transactions, and what compaction took, leaves gaps.
    take(&positions, first, 52...60, isNew: true)
    take(&positions, second, 0...3, isNew: true)
    #expect(positions.resume == [.init(first, offset: 40), .init(second, offset: 0)])
  }

  @Test func `an end counts only where it is farther than the records`() {
    var positions = InputPositions()
    reachEnd(&positions, first, 7, isFarther: false)
    positions.begin(at: [.init(first, offset: 40)])
    reachEnd(&positions, first, 40, isFarther: false)
    take(&positions, first, 40...49, isNew: true)
    reachEnd(&positions, first, 50, isFarther: false)
    reachEnd(&positions, first, 51, isFarther: true)
    reachEnd(&positions, first, 51, isFarther: false)
    #expect(positions.resume == [.init(first, offset: 40)])
    take(&positions, first, 50...50, isNew: false)
    take(&positions, first, 51...51, isNew: true)
    positions.rewind()
    reachEnd(&positions, first, 41, isFarther: true)
  }

  @Test func `after going back the same records are new`() {
    var positions = InputPositions()
    positions.begin(at: [.init(first, offset: 40)])
    take(&positions, first, 40...49, isNew: true)
    positions.commit([.init(first, offset: 45)])
    take(&positions, first, 45...49, isNew: false)
    positions.rewind()
    take(&positions, first, 44...49, isNew: false)
    take(&positions, first, 45...49, isNew: true)
  }

  @Test func `a partition that goes takes its positions with it, and no others`() {
    var positions = InputPositions()
    positions.begin(at: [.init(first, offset: 40), .init(second, offset: 7)])
    take(&positions, second, 7...8, isNew: true)
    positions.remove([first.partition])
    #expect(positions.resume == [.init(second, offset: 7)])
    #expect(positions.next == [.init(second, offset: 9)])
    positions.begin(at: [.init(first, offset: 3)])
    take(&positions, first, 3...3, isNew: true)
  }
}
