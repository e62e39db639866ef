import Kafka
import Oracle
import Synchronization
import Testing

@testable import Feed
@testable import FeedStatus
@testable import FeedStore

/// The outcomes that writers learn, in every order of events.
struct AwaitedWritesTests {
  private static let topic = "feeds.items"
  private let writes = AwaitedWrites(topic: Self.topic)

  private static func version(_ revision: UInt64) -> PublishedVersion {
    PublishedVersion(epoch: Array("feeds.items:0/0".utf8), revision: revision, through: [])
  }

  private static func rejected(
    _ feed: String?,
    at offset: Int64,
    partition: Int32 = 3,
    topic: String = topic
  ) -> RejectedRecord {
    let key = feed.map { Array($0.utf8) } ?? []
    let position = RecordPosition(topic: Array(topic.utf8), offset: offset, timestamp: 0)
    return key.withUnsafeBytes { key in
      RejectedRecord(
        InputRecord(
          partition: partition,
          position: position,
          key: feed == nil ? nil : ByteSpan(key),
          value: .null
        ),
        Rejection(.unknownSection, "at \(offset)")
      )
    }
  }

  private func end(_ offset: Int64, partition: Int32 = 3, topic: String = topic) -> TopicPartitionOffset {
    TopicPartitionOffset(TopicPartition(topic: topic, partition: partition), offset: offset)
  }

  /// Publishes everything before an offset, as the revision of that number.
  private func publish(
    to offset: Int64,
    partition: Int32 = 3,
    rejected: [RejectedRecord] = [],
    unchanged: [Int64] = []
  ) {
    let positions = unchanged.map {
      (partition: partition, record: TopicOffset(topic: Array(Self.topic.utf8), offset: $0))
    }
    writes.publish([end(offset, partition: partition)], rejected: rejected, unchanged: positions) { _, _ in
      Self.version(UInt64(offset))
    }
  }

  /// The answers so far, by the questions' numbers.
  private final class Answers: Sendable {
    let all = Mutex<[Int: [AwaitedWrites.Outcome]]>([:])

    subscript(number: Int) -> [AwaitedWrites.Outcome] { all.withLock { $0[number] ?? [] } }
  }

  private let answers = Answers()

  private func ask(_ offset: Int64, of feed: String = "a", in partition: Int32 = 3) -> Int {
    let number = writes.makeNumber()
    writes.ask(number, ByteText(feed), in: partition, at: offset) { [answers] outcome in
      answers.all.withLock { $0[number, default: []].append(outcome) }
    }
    return number
  }

  // MARK: A plain model

  /// A partition that a process may have, and all its records.
  private struct Partition {
    struct Record {
      let feed: String
      let isRejected: Bool
      let isUnchanged: Bool
    }

    var records: [Record] = []
    /// From where on the process knows what was published; nil while it does not have the partition.
    var from: Int?
    var covered = 0
  }

  private struct Question {
    let partition: Int
    let offset: Int
    let feed: String
    /// The answer that was due; nil while there is none.
    var outcome: AwaitedWrites.Outcome?
  }

  /// - Parameter toldBy: the worker's partitions, which says versions; nil if none does now.
  private static func due(
    _ question: Question,
    _ partitions: [Partition],
    toldBy worker: Set<Int32>
  ) -> AwaitedWrites.Outcome? {
    let partition = partitions[question.partition]
    guard let from = partition.from, question.offset < partition.covered else { return nil }
    if question.offset < from { return .forgotten }
    let record = partition.records[question.offset]
    if record.isRejected {
      let rejection = Rejection(.unknownSection, "at \(question.offset)")
      return record.feed == question.feed ? .rejected(rejection) : .forgotten
    }
    guard worker.contains(Int32(question.partition)) else { return nil }
    return .published(version(UInt64(partition.covered)), changed: !record.isUnchanged)
  }

  @Test(arguments: RandomCases.seeds(1...100))
  func `each question has the answer of a plain model, once and as soon as it is known`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var partitions = [Partition(), Partition()]
    var questions: [Int: Question] = [:]
    for _ in 0..<300 {
      let index = random.below(2)
      let number = Int32(index)
      var worker: Set<Int32> = []
      switch random.below(12) {
      case 0..<4:
        let kind = random.below(10)
        let feed = random.pick(["a", "b"])
        let record = Partition.Record(feed: feed, isRejected: kind < 3, isUnchanged: kind == 3 || kind == 4)
        partitions[index].records.append(record)
      case 4..<7:
        let offset = random.below(partitions[index].records.count + 3)
        let feed = random.pick(["a", "b"])
        let key = ask(Int64(offset), of: feed, in: number)
        questions[key] = Question(partition: index, offset: offset, feed: feed)
      case 7, 8:
        guard partitions[index].from != nil else { continue }
        let start = partitions[index].covered
        let next = start + random.below(partitions[index].records.count - start + 1)
        let taken = (start..<next).filter { _ in true }
        partitions[index].covered = next
        worker = [number]
        publish(
          to: Int64(next),
          partition: number,
          rejected: taken.filter { partitions[index].records[$0].isRejected }.map {
            Self.rejected(partitions[index].records[$0].feed, at: Int64($0), partition: number)
          },
          unchanged: taken.filter { partitions[index].records[$0].isUnchanged }.map { Int64($0) }
        )
      case 9:
        worker = random.pick([[0], [1], [0, 1]])
        writes.answer(of: worker) { _, partition in
          Self.version(UInt64(partitions[Int(partition)].covered))
        }
      case 10:
        // Another process publishes more.
        partitions[index].from = nil
        for (key, question) in questions where question.partition == index && question.outcome == nil {
          questions[key]?.outcome = .released
        }
        writes.release([number])
        let left = partitions[index].records.count - partitions[index].covered
        partitions[index].covered += random.below(left + 1)
      default:
        guard partitions[index].from == nil else { continue }
        partitions[index].from = partitions[index].covered
        writes.begin(at: [end(Int64(partitions[index].covered), partition: number)])
      }
      for (key, question) in questions {
        if question.outcome == nil {
          questions[key]?.outcome = Self.due(question, partitions, toldBy: worker)
        }
        #expect(answers[key] == (questions[key]?.outcome.map { [$0] } ?? []), "seed \(seed)")
      }
      let lacks = questions.values.contains { question in
        question.outcome == nil && Self.due(question, partitions, toldBy: [0, 1]) != nil
      }
      #expect(writes.isAsked || !lacks, "seed \(seed)")
    }
  }

  // MARK: Single cases

  @Test func `a question can be ended, and what is given up is not awaited`() {
    writes.begin(at: [end(0)])
    let (first, second) = (ask(0), ask(1))
    writes.forget(first)
    writes.forget(first)
    #expect(answers[first] == [.released] && answers[second] == [])
    writes.release(nil)
    #expect(answers[second] == [.released])
    writes.answer(of: [3]) { _, _ in nil }
    #expect(!writes.isAsked)
  }

  @Test func `exceptions are forgotten, the oldest first, and with them what was before them`() {
    writes.begin(at: [end(0), end(0, partition: 4)])
    publish(to: 2, partition: 4, unchanged: [1])
    let most = AwaitedWrites.mostExceptions
    publish(to: Int64(most) + 5, unchanged: (0..<most - 1).map { Int64($0) + 3 })
    let known = [ask(1, in: 4), ask(0, in: 4), ask(0), ask(3)]
    writes.answer(of: [3, 4]) { _, _ in nil }
    #expect(
      known.map { answers[$0] } == [false, true, true, false].map { [.published(nil, changed: $0)] }
    )
    // One too many, and another.
    publish(to: Int64(most) + 7, rejected: [Self.rejected("a", at: Int64(most) + 5)], unchanged: [])
    publish(to: Int64(most) + 8, unchanged: [Int64(most) + 7])
    let later = [ask(1, in: 4), ask(0, in: 4), ask(3), ask(4), ask(Int64(most) + 5)]
    writes.answer(of: [3, 4]) { _, _ in nil }
    #expect(later[..<3].map { answers[$0] } == [[.forgotten], [.forgotten], [.forgotten]])
    #expect(answers[later[3]] == [.published(nil, changed: false)])
    #expect(answers[later[4]] == [.rejected(Rejection(.unknownSection, "at \(most + 5)"))])
  }

  @Test func `records of other topics, without a key, or of other feeds are not the writer's`() {
    writes.begin(at: [end(0), end(0, topic: "feeds.sections")])
    let others = [Self.rejected(nil, at: 0), Self.rejected("a", at: 1, topic: "feeds.sections")]
    publish(to: 3, rejected: others + [Self.rejected("b", at: 2)])
    let asked = (0...2).map { ask($0) }
    writes.answer(of: [3]) { _, _ in nil }
    #expect(asked.map { answers[$0] } == [[.forgotten], [.published(nil, changed: true)], [.forgotten]])
    #expect(!AwaitedWrites(topic: nil).isOn)
  }
}
