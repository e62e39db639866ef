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
  /// The numbers of all partitions.
  var numbers: Set<Int32> { Set(states.keys) }
  /// The state of a partition; nil if it is not this worker's.
  func state(of number: Int32) -> PartitionState? { states[number] }
  func has(_ state: PartitionState) -> Bool { states.values.contains(state) }
  /// The input partitions in a state.
  func inputs(_ state: PartitionState) -> [TopicPartition] {
    // Asked for after each batch: nothing is allocated if there are none.
    has(state) ? inputs.filter { states[$0.partition] == state } : []
  }

  // MARK: Changes

  /// Partitions were assigned.
  mutating func assign(_ partitions: [TopicPartition]) {
    inputs.removeAll { partitions.contains($0) }
    inputs += partitions
    for partition in partitions { states[partition.partition] = .restoring }
  }

  /// The feeds of partitions are restored, and their input is read.
  mutating func serve(_ numbers: some Sequence<Int32>) { change(numbers, from: .restoring, to: .serving) }

  /// The feeds of partitions cannot be restored.
  mutating func stop(_ numbers: some Sequence<Int32>) { change(numbers, from: .restoring, to: .stopped) }

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
    for (number, state) in states where state != .leaving { states[number] = .restoring }
  }

  /// Partitions are somebody else's from here on.
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
