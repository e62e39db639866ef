package import Feed
package import FeedStore
package import Kafka
import Queues
import Synchronization

/// The outcomes of one topic's records, for their writers.
///
/// For each partition of this process, it knows the published offsets since the restoration, and a bounded number of exceptions:
/// records that were rejected or changed nothing. So it answers before and after a record is published.
package final class AwaitedWrites: Sendable {
  /// The outcome of a record.
  package enum Outcome: Sendable, Equatable {
    /// A publication covers it, with the version of its feed then; nil if the feed does not exist.
    case published(PublishedVersion?, changed: Bool)
    case rejected(Rejection)
    /// The process gave the partition up, or restores its feeds, or the writer stopped waiting.
    case released
    /// It was published too long ago, or by another process.
    case forgotten
  }

  private struct Question {
    let feed: ByteText
    let partition: Int32
    let offset: Int64
    let body: @Sendable (Outcome) -> Void
  }

  private struct Known {
    /// The offset from which outcomes are known.
    var from: Int64
    /// The offset before which all records are published.
    var covered: Int64
    /// Rejected records, without their values; nil for a record that changed nothing.
    var exceptions: [Int64: RejectedRecord?] = [:]
  }

  private struct State {
    var known: [Int32: Known] = [:]
    /// All exceptions, oldest first.
    var order = Queue<(partition: Int32, offset: Int64)>()
    var questions: [Int: Question] = [:]

    /// - Returns: nil if not yet known.
    func outcome(
      of question: Question,
      _ partitions: Set<Int32>,
      _ version: (ByteText, Int32) -> PublishedVersion?
    ) -> Outcome? {
      guard let known = known[question.partition], question.offset < known.covered else { return nil }
      guard question.offset >= known.from else { return .forgotten }
      let exception = known.exceptions[question.offset]
      if let record = exception ?? nil {
        // Writers of other feeds receive no details.
        return record.key == Array(question.feed.string.utf8) ? .rejected(record.rejection) : .forgotten
      }
      guard partitions.contains(question.partition) else { return nil }
      return .published(version(question.feed, question.partition), changed: exception == nil)
    }

    mutating func add(_ rejected: RejectedRecord?, _ partition: Int32, _ offset: Int64) {
      known[partition]?.exceptions[offset] = .some(rejected)
      order.append((partition, offset))
      guard order.count > AwaitedWrites.mostExceptions, let oldest = order.removeFirst(),
        known[oldest.partition]?.exceptions.removeValue(forKey: oldest.offset) != nil
      else { return }
      let from = known[oldest.partition]?.from ?? 0
      known[oldest.partition]?.from = max(from, oldest.offset + 1)
    }
  }

  static let mostExceptions = 10_000

  /// Nil if clients do not write.
  private let topic: String?
  private let state = Mutex(State())
  private let numbers = Atomic(0)
  /// Whether an answer needs a version from a worker.
  private let lacksVersions = Atomic(false)

  /// - Parameter topic: the topic of the records; nil to do nothing, at no cost.
  package init(topic: String?) { self.topic = topic }

  package var isOn: Bool { topic != nil }
  package var isAsked: Bool { lacksVersions.load(ordering: .relaxed) }

  // MARK: Writers

  /// A new number for ``ask(_:_:in:at:_:)``.
  package func makeNumber() -> Int { numbers.add(1, ordering: .relaxed).newValue }

  /// Asks for the outcome of a record in a partition of this process.
  ///
  /// - Parameter body: called once on any thread, when the outcome is known.
  package func ask(
    _ number: Int,
    _ feed: ByteText,
    in partition: Int32,
    at offset: Int64,
    _ body: @escaping @Sendable (Outcome) -> Void
  ) {
    let question = Question(feed: feed, partition: partition, offset: offset, body: body)
    change { $0.questions[number] = question }
  }

  /// Ends a question with the outcome `released`.
  package func forget(_ number: Int) {
    state.withLock { $0.questions.removeValue(forKey: number) }?.body(.released)
  }

  // MARK: Workers

  /// The feeds of partitions were restored.
  ///
  /// - Parameter starts: the starts of their inputs.
  package func begin(at starts: [TopicPartitionOffset]) {
    change { state in
      for start in starts where start.topic == topic {
        state.known[start.partition] = Known(from: start.offset, covered: start.offset)
      }
    }
  }

  /// A worker has published records of its input.
  ///
  /// - Parameters:
  ///   - covered: for each input, the offset before which all records are published.
  ///   - rejected: the rejected ones of these records.
  ///   - unchanged: the ones that changed nothing.
  ///   - version: the published version of a partition's feed.
  package func publish(
    _ covered: [TopicPartitionOffset],
    rejected: [RejectedRecord],
    unchanged: [(partition: Int32, record: TopicOffset)],
    _ version: (ByteText, Int32) -> PublishedVersion?
  ) {
    let name = topic.map { Array($0.utf8) }
    let covered = covered.filter { $0.topic == topic }
    change(versionsOf: Set(covered.map(\.partition)), version) { state in
      for position in covered { state.known[position.partition]?.covered = position.offset }
      for var record in rejected where record.topic == name {
        record.value = nil
        state.add(record, record.partition, record.offset)
      }
      for (partition, record) in unchanged where record.topic == name {
        state.add(nil, partition, record.offset)
      }
    }
  }

  /// Answers questions about published records.
  ///
  /// - Parameter partitions: the worker's partitions.
  package func answer(of partitions: Set<Int32>, _ version: (ByteText, Int32) -> PublishedVersion?) {
    change(versionsOf: partitions, version) { _ in }
  }

  /// Partitions were given up, or their published state is no longer known.
  ///
  /// - Parameter partitions: nil for all.
  package func release(_ partitions: Set<Int32>?) {
    let released = state.withLock { state in
      state.known = state.known.filter { partitions?.contains($0.key) == false }
      let released = state.questions.filter { partitions?.contains($0.value.partition) != false }
      for number in released.keys { state.questions[number] = nil }
      return released.values
    }
    for question in released { question.body(.released) }
  }

  /// Changes the state, and reports the outcomes that are now known.
  private func change(
    versionsOf partitions: Set<Int32> = [],
    _ version: (ByteText, Int32) -> PublishedVersion? = { _, _ in nil },
    _ body: (inout State) -> Void
  ) {
    let done = state.withLock { state in
      body(&state)
      let done = state.questions.compactMap { number, question in
        state.outcome(of: question, partitions, version).map { (number, question, $0) }
      }
      for (number, _, _) in done { state.questions[number] = nil }
      let isAsked = state.questions.values.contains { state.known[$0.partition]?.covered ?? 0 > $0.offset }
      lacksVersions.store(isAsked, ordering: .relaxed)
      return done
    }
    for (_, question, outcome) in done { question.body(outcome) }
  }
}
