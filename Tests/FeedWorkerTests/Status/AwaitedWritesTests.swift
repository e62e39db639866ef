import Kafka
import Oracle
import Synchronization
import Testing

@testable import Feed
@testable import FeedStore
@testable import FeedWorker

/// Records that wait until they are published, in every order of what happens to them.
struct AwaitedWritesTests {
  private let input = TopicPartition(topic: "feeds.items", partition: 3)

  private func version(_ revision: UInt64) -> PublishedVersion {
    PublishedVersion(epoch: Array("feeds.items:0/0".utf8), revision: revision, through: [])
  }

  private func rejected(_ feed: String, at offset: Int64, partition: Int32 = 3) -> RejectedRecord {
    let key = Array(feed.utf8)
    let position = RecordPosition(topic: Array(input.topic.utf8), offset: offset, timestamp: 0)
    return key.withUnsafeBytes { key in
      RejectedRecord(
        InputRecord(partition: partition, position: position, key: ByteSpan(key), value: .null),
        Rejection(.unknownSection, "at \(offset)")
      )
    }
  }

  /// One record, as its writer and the worker see it.
  private struct Written {
    let feed: String
    let offset: Int64
    let isRejected: Bool
    let number: Int
    var isDelivered = false
    var isReleased = false
    /// The revision with which the worker published it.
    var revision: UInt64?
    var outcome: AwaitedWrites.Outcome?
  }

  @Test(arguments: RandomCases.seeds(1...100))
  func `each record gets its outcome once, whatever comes first`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let writes = AwaitedWrites()
    let found = Mutex<[(offset: Int64, outcome: AwaitedWrites.Outcome)]>([])
    var written: [Written] = []
    var covered: Int64 = 0
    var revision: UInt64 = 0
    for _ in 0..<120 {
      switch random.below(10) {
      case 0..<4:
        // Other producers write as well.
        let offset = (written.last?.offset ?? -1) + 1 + Int64(random.below(2))
        let feed = random.pick(["a", "b"])
        let number = writes.expect(ByteText(feed), in: input) { outcome, at in
          #expect(at == offset)
          found.withLock { $0.append((offset, outcome)) }
        }
        written.append(
          Written(feed: feed, offset: offset, isRejected: random.chance(30), number: number)
        )
      case 4..<7:
        let waiting = written.indices.filter { !written[$0].isDelivered }
        guard !waiting.isEmpty else { continue }
        let index = random.pick(waiting)
        written[index].isDelivered = true
        writes.deliver(written[index].number, at: written[index].offset)
      case 7, 8:
        // What the worker publishes need not be reported as delivered.
        let next = min((written.last?.offset ?? -1) + 1, covered + Int64(random.below(6)))
        revision += 1
        let newest = version(revision)
        let taken = written.indices.filter { (covered..<next).contains(written[$0].offset) }
        for index in taken { written[index].revision = revision }
        let refused = taken.filter { written[$0].isRejected }.map {
          rejected(written[$0].feed, at: written[$0].offset)
        }
        writes.publish([TopicPartitionOffset(input, offset: next)], rejected: refused) { _, _ in newest }
        covered = next
      default:
        let partition: Int32 = random.pick([2, 3])
        writes.release([partition])
        guard partition == input.partition else { continue }
        for index in written.indices { written[index].isReleased = true }
      }
      let news = found.withLock { found in
        defer { found = [] }
        return found
      }
      for (offset, outcome) in news {
        guard let index = written.firstIndex(where: { $0.offset == offset }) else { continue }
        #expect(written[index].outcome == nil, "seed \(seed)")
        written[index].outcome = outcome
        switch outcome {
        case .rejected(let rejection):
          #expect(written[index].isRejected && rejection.message == "at \(offset)", "seed \(seed)")
        case .published(let version):
          let least = written[index].revision ?? .max
          #expect(!written[index].isRejected, "seed \(seed)")
          #expect((least...revision).contains(version?.revision ?? 0), "seed \(seed)")
        case .unknown: #expect(written[index].isReleased, "seed \(seed)")
        }
      }
      for record in written where record.isDelivered {
        #expect((record.outcome != nil) == (record.revision != nil || record.isReleased), "seed \(seed)")
      }
    }
  }

  @Test func `what a worker has given up is not known`() {
    let writes = AwaitedWrites()
    let outcomes = Mutex<[AwaitedWrites.Outcome]>([])
    let numbers = (0..<3).map { _ in
      writes.expect(ByteText("a"), in: input) { outcome, _ in outcomes.withLock { $0.append(outcome) } }
    }
    writes.deliver(numbers[0], at: 7)
    writes.release([3])
    #expect(outcomes.withLock { $0 } == [.unknown])
    // Also what is delivered after that.
    writes.deliver(numbers[1], at: 8)
    #expect(outcomes.withLock { $0 } == [.unknown, .unknown])
    #expect(writes.forget(numbers[2]))
    #expect(!writes.forget(numbers[0]))
    #expect(writes.isEmpty)
  }

  @Test func `a rejection of another feed or partition is not this record's`() {
    let writes = AwaitedWrites()
    let outcome = Mutex<AwaitedWrites.Outcome?>(nil)
    let number = writes.expect(ByteText("a"), in: input) { found, _ in outcome.withLock { $0 = found } }
    let others = [rejected("a", at: 5, partition: 1), rejected("b", at: 5)]
    writes.publish([TopicPartitionOffset(input, offset: 6)], rejected: others) { _, _ in nil }
    writes.deliver(number, at: 5)
    #expect(outcome.withLock { $0 } == .published(nil))
  }
}
