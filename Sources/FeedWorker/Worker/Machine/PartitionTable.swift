import FeedTransactions
import Kafka

/// The partitions that the group has given a worker, and the state of each.
///
/// Changes that make no sense are broken invariants: they end the process.
struct PartitionTable: Equatable {
  /// All input partitions, in the order in which they came.
  private(set) var inputs: [TopicPartition] = []
  private var states: [Int32: PartitionState] = [:]

  // MARK: Looking

  var isEmpty: Bool { inputs.isEmpty }
  var numbers: Set<Int32> { Set(states.keys) }
  /// The state of a partition; nil if it is not this worker's.
  func state(of number: Int32) -> PartitionState? { states[number] }
  func has(_ state: PartitionState) -> Bool { states.values.contains(state) }
  func inputs(_ state: PartitionState) -> [TopicPartition] {
    // Asked for after each batch: nothing is allocated if there are none.
    has(state) ? inputs.filter { states[$0.partition] == state } : []
  }

  // MARK: Changes

  mutating func assign(_ partitions: [TopicPartition]) {
    inputs.removeAll { partitions.contains($0) }
    inputs += partitions
    for partition in partitions { states[partition.partition] = .assigned }
  }

  /// The feeds of partitions are restored, and their input is read.
  mutating func serve(_ numbers: some Sequence<Int32>) { change(numbers, from: .assigned, to: .serving) }

  /// The input of all partitions that are served is paused.
  mutating func pause() { change(numbers(.serving), from: .serving, to: .paused) }

  /// Input that was paused comes again.
  mutating func resume() { change(numbers(.paused), from: .paused, to: .serving) }

  /// The group takes partitions away; passes over those that it has not given.
  mutating func leave(_ numbers: Set<Int32>) {
    for number in numbers where states[number] != nil { states[number] = .leaving }
  }

  /// What is published of the partitions is not known: they are restored again, except those that leave.
  mutating func restoreAgain() {
    for (number, state) in states where state != .leaving { states[number] = .assigned }
  }

  /// This worker does not own the partitions any more.
  ///
  /// - Returns: their input partitions.
  mutating func giveUp(_ numbers: Set<Int32>) -> [TopicPartition] {
    let gone = inputs.filter { numbers.contains($0.partition) }
    inputs.removeAll { numbers.contains($0.partition) }
    for number in numbers { states[number] = nil }
    return gone
  }

  private func numbers(_ state: PartitionState) -> [Int32] { states.filter { $0.value == state }.map(\.key) }

  private mutating func change(
    _ numbers: some Sequence<Int32>,
    from earlier: PartitionState,
    to state: PartitionState
  ) {
    for number in numbers {
      guard states[number] == earlier else {
        preconditionFailure(
          "partition \(number) becomes \(state), and is \(states[number].map { "\($0)" } ?? "not ours")"
        )
      }
      states[number] = state
    }
  }
}

/// What a worker does with a partition that the group has given it: the input partitions of one number, and their feeds.
///
///     assigned ──▸ serving ◂──▸ paused        (each but leaving) ──▸ assigned: what is published is not known
///                                             (each) ── revoked ──▸ leaving ──▸ given up
///                                             (each) ── lost ──▸ given up
enum PartitionState: Equatable {
  /// Its input is paused. Only ``Restoration`` knows whether its feeds are being restored, and how far, or cannot be restored.
  case assigned
  /// Its input is read and its feeds are published.
  case serving
  /// It is served, and its input is paused until a long flush or a large batch is done.
  case paused
  /// The group takes it away: what is pending is still published, and no more is read.
  case leaving
}

/// From where each partition has to be read again if pending records are withdrawn, and what has to come next.
///
/// It knows what this worker has committed, and before its first commit where its reading began; so it says
/// the same as the broker for as long as the partitions are held and no commit's outcome is unknown.
struct InputPositions: Equatable {
  private var offsets: [TopicPartition: Int64] = [:]
  /// The least offset that may come next.
  private var nextOffsets: [TopicPartition: Int64] = [:]

  /// Records that input came. The first of a partition is where its reading began.
  ///
  /// - Returns: a partition of which records came that had come before; nothing of the input from there on is recorded.
  mutating func take(_ input: [InputSpan]) -> TopicPartition? {
    for span in input {
      if let next = nextOffsets[span.partition], span.first < next { return span.partition }
      if offsets[span.partition] == nil { offsets[span.partition] = span.first }
      nextOffsets[span.partition] = span.last + 1
    }
    return nil
  }

  /// Whether a partition ends after its last record: markers that end transactions take up offsets.
  func isBefore(_ end: TopicPartitionOffset) -> Bool {
    nextOffsets[end.topicPartition].map { $0 < end.offset } ?? false
  }

  /// Records that partitions were read to their ends.
  mutating func reach(_ ends: [TopicPartitionOffset]) {
    for end in ends where isBefore(end) { nextOffsets[end.topicPartition] = end.offset }
  }

  /// Notes where the reading begins, before the first record.
  mutating func begin(at starts: [TopicPartitionOffset]) {
    for start in starts {
      offsets[start.topicPartition] = start.offset
      nextOffsets[start.topicPartition] = start.offset
    }
  }

  mutating func commit(_ covered: [TopicPartitionOffset]) {
    for position in covered { offsets[position.topicPartition] = position.offset }
  }

  /// Notes that the reading goes on at ``resume``.
  mutating func rewind() { nextOffsets = offsets }

  /// Up to where each partition is read.
  var read: [TopicPartition: Int64] { nextOffsets }

  /// Up to where each partition is committed.
  var committed: [TopicPartition: Int64] { offsets }

  /// Where to go on reading, sorted by topic and partition.
  var resume: [TopicPartitionOffset] { Self.sorted(offsets) }

  /// Where the next record comes from of each partition, sorted by topic and partition.
  var next: [TopicPartitionOffset] { Self.sorted(nextOffsets) }

  private static func sorted(_ offsets: [TopicPartition: Int64]) -> [TopicPartitionOffset] {
    offsets.map { TopicPartitionOffset($0.key, offset: $0.value) }
      .sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
  }

  /// Forgets partitions of these numbers: they are not owned any more, or are restored again.
  mutating func remove(_ partitions: Set<Int32>) {
    offsets = offsets.filter { !partitions.contains($0.key.partition) }
    nextOffsets = nextOffsets.filter { !partitions.contains($0.key.partition) }
  }
}
