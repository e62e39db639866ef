import FeedTransactions
import Kafka

/// The partitions that the group has assigned to a worker, and the state of each.
///
/// Invalid changes are broken invariants: they end the process.
struct PartitionTable: Equatable {
  /// All input partitions, in the order of their assignment.
  private(set) var inputs: [TopicPartition] = []
  private var states: [Int32: PartitionState] = [:]

  // MARK: Looking

  var isEmpty: Bool { inputs.isEmpty }
  var numbers: Set<Int32> { Set(states.keys) }
  /// The state of a partition; nil if this worker does not own it.
  func state(of number: Int32) -> PartitionState? { states[number] }
  func has(_ state: PartitionState) -> Bool { states.values.contains(state) }
  func inputs(_ state: PartitionState) -> [TopicPartition] {
    // Called after each batch: allocates nothing if there are none.
    has(state) ? inputs.filter { states[$0.partition] == state } : []
  }

  // MARK: Changes

  mutating func assign(_ partitions: [TopicPartition]) {
    inputs.removeAll { partitions.contains($0) }
    inputs += partitions
    for partition in partitions { states[partition.partition] = .assigned }
  }

  /// Begins to serve partitions: their feeds are restored, and their input is read.
  mutating func serve(_ numbers: some Sequence<Int32>) { change(numbers, from: .assigned, to: .serving) }

  /// Pauses the input of all served partitions.
  mutating func pause() { change(numbers(.serving), from: .serving, to: .paused) }

  /// Resumes all paused input.
  mutating func resume() { change(numbers(.paused), from: .paused, to: .serving) }

  /// Begins to give up partitions that the group revokes; ignores unassigned ones.
  mutating func leave(_ numbers: Set<Int32>) {
    for number in numbers where states[number] != nil { states[number] = .leaving }
  }

  /// Marks all partitions to be restored again, except leaving ones, because it is unknown what is published.
  mutating func restoreAgain() {
    for (number, state) in states where state != .leaving { states[number] = .assigned }
  }

  /// Removes partitions that this worker no longer owns.
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

/// The state of an assigned partition number: its input partitions and their feeds.
///
///     assigned ──▸ serving ◂──▸ paused        (each but leaving) ──▸ assigned: unknown what is published
///                                             (each) ── revoked ──▸ leaving ──▸ given up
///                                             (each) ── lost ──▸ given up
enum PartitionState: Equatable {
  /// Its input is paused. Only ``Restoration`` knows whether its feeds are being restored, and how far, or cannot be restored.
  case assigned
  /// Its input is read and its feeds are published.
  case serving
  /// It is served, but its input is paused until a long flush or a large batch is done.
  case paused
  /// The group revokes it: pending changes are still published, but no more input is read.
  case leaving
}

/// Where each partition is read again if pending records are withdrawn, and its next expected offset.
///
/// It records this worker's commits, and before the first one the start of reading. So it agrees with the
/// broker while the worker holds the partitions and the outcome of every commit is known.
struct InputPositions: Equatable {
  private var offsets: [TopicPartition: Int64] = [:]
  /// The least offset of the next record.
  private var nextOffsets: [TopicPartition: Int64] = [:]

  /// Records received input. A partition's first record marks the start of reading, unless that is known.
  ///
  /// - Returns: a partition with repeated records; its input from there on is not recorded.
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

  /// Records that the worker has read partitions to their ends.
  mutating func reach(_ ends: [TopicPartitionOffset]) {
    for end in ends where isBefore(end) { nextOffsets[end.topicPartition] = end.offset }
  }

  /// Sets the start of reading, before the first record.
  mutating func begin(at starts: [TopicPartitionOffset]) {
    for start in starts {
      offsets[start.topicPartition] = start.offset
      nextOffsets[start.topicPartition] = start.offset
    }
  }

  mutating func commit(_ covered: [TopicPartitionOffset]) {
    for position in covered { offsets[position.topicPartition] = position.offset }
  }

  /// Continues reading at ``resume``.
  mutating func rewind() { nextOffsets = offsets }

  /// The offset up to which each partition is read.
  var read: [TopicPartition: Int64] { nextOffsets }

  /// The offset up to which each partition is committed.
  var committed: [TopicPartition: Int64] { offsets }

  /// The offset from which each partition is read again, sorted by topic and partition.
  var resume: [TopicPartitionOffset] { Self.sorted(offsets) }

  /// The next expected offset of each partition, sorted by topic and partition.
  var next: [TopicPartitionOffset] { Self.sorted(nextOffsets) }

  private static func sorted(_ offsets: [TopicPartition: Int64]) -> [TopicPartitionOffset] {
    offsets.map { TopicPartitionOffset($0.key, offset: $0.value) }
      .sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
  }

  /// Removes all partitions with these numbers: they are no longer owned, or are restored again.
  mutating func remove(_ partitions: Set<Int32>) {
    offsets = offsets.filter { !partitions.contains($0.key.partition) }
    nextOffsets = nextOffsets.filter { !partitions.contains($0.key.partition) }
  }
}
