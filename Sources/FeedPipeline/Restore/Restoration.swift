import Kafka

/// Leads from partitions that were assigned to their feeds restored and their input read: says what to do
/// next, and is told what came of it. Partitions are restored one after the other.
///
/// Whoever does it keeps polling the (paused) group consumer between any two steps. A step that fails for a
/// passing reason is simply done again. When the partitions are gone in the middle, `release` forgets
/// everything.
struct Restoration {
  enum State: Equatable {
    /// No partitions are assigned.
    case idle
    /// The group's committed offsets are wanted, once no transaction with some is pending.
    case locating
    /// The ends of the input partition of this index are wanted.
    case measuring(Int)
    /// How far a changesets partition has to be read is wanted. Not before the offsets are known: what
    /// belongs to them is then in the topic.
    case opening(partition: Int32)
    /// A changesets partition is read up to `high`.
    case reading(partition: Int32, position: Int64, high: Int64)
    /// A changesets partition was read; its feeds are wanted in the store.
    case takingOver(partition: Int32)
    /// Everything is restored; the input has to be set going.
    case resuming
    /// The input is read.
    case done
  }

  /// What is to be done next.
  enum Step: Equatable {
    case nothing
    /// Ask for the committed offsets, then ``locate(_:)``.
    case locate([TopicPartition])
    /// Ask where an input partition begins and ends, then ``measure(_:_:)``.
    case measure(TopicPartition)
    /// Ask where a changesets partition begins and ends, aborted and open transactions included, then
    /// ``open(_:)``; what was read of another is dropped.
    case open(partition: Int32)
    /// Read on, then ``advance(to:)``.
    case read(partition: Int32)
    /// Hand the feeds to the store, then ``takeOver()``.
    case takeOver(partition: Int32)
    /// Seek to these offsets and resume the input, then ``finish()``.
    case resume([TopicPartitionOffset])
  }

  private(set) var state = State.idle
  /// The input partitions, sorted.
  private(set) var inputs: [TopicPartition] = []
  /// Where their reading begins, as far as that is known.
  private(set) var starts: [InputStart] = []
  private var committed: [TopicPartition: Int64?] = [:]
  /// Partitions of the changesets topic that are left, the next one first.
  private(set) var partitionsLeft: [Int32] = []

  /// Whether there is something to do before input may be taken.
  var isUnderWay: Bool { state != .idle && state != .done }

  var step: Step {
    switch state {
    case .idle, .done: .nothing
    case .locating: .locate(inputs)
    case .measuring(let index): .measure(inputs[index])
    case .opening(let partition): .open(partition: partition)
    case .reading(let partition, _, _): .read(partition: partition)
    case .takingOver(let partition): .takeOver(partition: partition)
    case .resuming: .resume(starts.map(\.position))
    }
  }

  /// Input partitions were assigned, and are paused.
  mutating func assign(_ partitions: [TopicPartition]) {
    release()
    inputs = partitions.sorted { ($0.partition, $0.topic) < ($1.partition, $1.topic) }
    partitionsLeft = Set(partitions.map(\.partition)).sorted()
    state = inputs.isEmpty ? .resuming : .locating
  }

  /// The partitions are gone, at whatever point.
  mutating func release() { self = Restoration() }

  /// The committed offsets are known.
  mutating func locate(_ committed: [TopicPartition: Int64?]) {
    guard case .locating = state else { preconditionFailure("offsets in state \(state)") }
    self.committed = committed
    state = .measuring(0)
  }

  /// The ends of an input partition are known.
  ///
  /// - Throws: ``DaemonError`` if input is lost and the policy is to fail.
  mutating func measure(_ ends: Watermarks, _ policy: LostInputPolicy) throws(DaemonError) {
    guard case .measuring(let index) = state else { preconditionFailure("input's ends in state \(state)") }
    let input = inputs[index]
    starts.append(try InputStart(input, committed: committed[input] ?? nil, ends, policy))
    if index + 1 < inputs.count {
      state = .measuring(index + 1)
    } else {
      openNext()
    }
  }

  /// The ends of the changesets partition are known.
  mutating func open(_ ends: Watermarks) {
    guard case .opening(let partition) = state else { preconditionFailure("an opening in state \(state)") }
    state = .reading(partition: partition, position: ends.low, high: ends.high)
    advance(to: ends.low)
  }

  /// Everything before this offset was read; it is that of an end of partition as well, as what ends a
  /// transaction takes up offsets and is no record.
  mutating func advance(to offset: Int64) {
    guard case .reading(let partition, let position, let high) = state else {
      preconditionFailure("progress in state \(state)")
    }
    let reached = max(position, offset)
    state =
      reached >= high
      ? .takingOver(partition: partition)
      : .reading(partition: partition, position: reached, high: high)
  }

  /// The partition's feeds are in the store.
  mutating func takeOver() {
    guard case .takingOver = state else { preconditionFailure("a take-over in state \(state)") }
    partitionsLeft.removeFirst()
    openNext()
  }

  /// The input is read.
  mutating func finish() {
    guard case .resuming = state else { preconditionFailure("an end in state \(state)") }
    state = .done
  }

  private mutating func openNext() {
    state = partitionsLeft.first.map { .opening(partition: $0) } ?? .resuming
  }
}
