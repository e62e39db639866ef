import FeedConfiguration
import FeedKafka
import Kafka

/// Leads from partitions that were assigned to their feeds restored and their input read: says what to do
/// next, and is told what came of it. All partitions are read at once, and each is handed to the store when
/// it has been read: one that an open transaction keeps back does not hold up the others, and one whose feeds cannot be
/// restored is left out, with its inputs.
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
    /// How far the changesets partition has to be read is wanted whose turn it is. Not before the offsets
    /// are known: what belongs to them is then in the topic.
    case bounding
    /// The reading of the changesets partitions has to begin.
    case opening
    /// The changesets partitions are read, and handed to the store one by one.
    case reading
    /// Everything is restored that can be; the input has to be set going.
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
    /// ``bound(_:)``, or ``stop(partition:_:)``.
    case bound(partition: Int32)
    /// Begin to read these from their beginnings, all at once, then ``open()``; what was read of others is
    /// dropped.
    case open([RestoredPartition])
    /// Read on, whatever partition has something, then ``advance(to:)``, and ``stop(partition:_:)`` for what is
    /// unreadable.
    case read
    /// Hand the feeds of a partition to the store, then ``takeOver(partition:)``, or ``stop(partition:_:)``.
    case takeOver(partition: Int32)
    /// Seek to these offsets and resume the input, then ``finish()``.
    case resume([TopicPartitionOffset])
  }

  private(set) var state = State.idle
  /// The input partitions, sorted.
  private(set) var inputs: [TopicPartition] = []
  /// Where their reading begins, as far as that is known.
  private(set) var starts: [InputStart] = []
  /// The changesets partitions that are restored, as far as their ends are known, sorted.
  private(set) var partitions: [RestoredPartition] = []
  /// Why partitions cannot be restored, by number. Their inputs stay paused.
  private(set) var stopped: [Int32: DaemonError] = [:]
  private var committed: [TopicPartition: CommittedOffset] = [:]
  /// Changesets partitions of which the ends are wanted, the next one last.
  private var unbounded: [Int32] = []

  /// Whether there is something to do before input may be taken.
  var isUnderWay: Bool { state != .idle && state != .done }
  /// The partitions that are still read.
  var unread: [RestoredPartition] { partitions.filter { !$0.isRead } }
  /// Where the reading begins of those inputs that are read.
  var resumed: [InputStart] { starts.filter { stopped[$0.position.partition] == nil } }

  var step: Step {
    switch state {
    case .idle, .done: .nothing
    case .locating: .locate(inputs)
    case .measuring(let index): .measure(inputs[index])
    case .bounding: unbounded.last.map { .bound(partition: $0) } ?? .nothing
    case .opening: .open(unread)
    case .reading: complete.map { .takeOver(partition: $0.number) } ?? .read
    case .resuming: .resume(resumed.map(\.position))
    }
  }

  /// A partition that was read, but is not in the store yet.
  private var complete: RestoredPartition? { partitions.first { $0.isRead && !$0.isTakenOver } }

  /// Input partitions were assigned, and are paused.
  mutating func assign(_ partitions: [TopicPartition]) {
    release()
    inputs = partitions.sorted { ($0.partition, $0.topic) < ($1.partition, $1.topic) }
    unbounded = Set(partitions.map(\.partition)).sorted(by: >)
    state = inputs.isEmpty ? .resuming : .locating
  }

  /// The partitions are gone, at whatever point.
  mutating func release() { self = Restoration() }

  /// The committed offsets are known.
  mutating func locate(_ committed: [TopicPartition: CommittedOffset]) {
    guard case .locating = state else { preconditionFailure("offsets in state \(state)") }
    self.committed = committed
    state = .measuring(0)
  }

  /// Whether the group has committed more of the input partition that is measured than there is.
  func isCommittedBeyond(_ ends: Watermarks) -> Bool {
    guard case .measuring(let index) = state, let offset = committed[inputs[index]]?.offset else {
      return false
    }
    return offset > ends.high
  }

  /// How far a changesets partition reaches at least, by what was committed with the offsets; 0 if that says nothing.
  func leastEnd(of partition: Int32) -> Int64 {
    committed.filter { $0.key.partition == partition }
      .compactMap { ChangesetEnds.end(in: $0.value.metadata) }.max() ?? 0
  }

  /// The ends of an input partition are known.
  ///
  /// - Throws: ``DaemonError`` if input is lost and the policy is to fail.
  mutating func measure(_ ends: Watermarks, _ policy: LostInputPolicy) throws(DaemonError) {
    guard case .measuring(let index) = state else { preconditionFailure("input's ends in state \(state)") }
    let input = inputs[index]
    starts.append(try InputStart(input, committed: committed[input]?.offset, ends, policy))
    state = index + 1 < inputs.count ? .measuring(index + 1) : .bounding
  }

  /// The ends of the changesets partition are known.
  mutating func bound(_ ends: Watermarks) {
    guard case .bounding = state, let partition = unbounded.popLast() else {
      preconditionFailure("a changesets partition's ends in state \(state)")
    }
    partitions.append(RestoredPartition(partition, ends))
    openIfBounded()
  }

  private mutating func openIfBounded() {
    guard unbounded.isEmpty else { return }
    state = unread.isEmpty ? .reading : .opening
    resumeIfRestored()
  }

  /// The reading has begun.
  mutating func open() {
    guard case .opening = state else { preconditionFailure("an opening in state \(state)") }
    state = .reading
  }

  /// Of each partition everything before its offset was read; it is that of an end of partition as well, as
  /// what ends a transaction takes up offsets and is no record.
  mutating func advance(to offsets: [Int32: Int64]) {
    guard case .reading = state else { preconditionFailure("progress in state \(state)") }
    for index in partitions.indices {
      if let offset = offsets[partitions[index].number] { partitions[index].advance(to: offset) }
    }
  }

  /// The partition's feeds are in the store.
  mutating func takeOver(partition: Int32) {
    guard case .reading = state, let index = partitions.firstIndex(where: { $0.number == partition }),
      partitions[index].isRead
    else { preconditionFailure("a take-over of partition \(partition) in state \(state)") }
    partitions[index].takeOver()
    resumeIfRestored()
  }

  /// The partition's feeds cannot be restored.
  mutating func stop(partition: Int32, _ error: DaemonError) {
    switch state {
    case .bounding where unbounded.last == partition:
      unbounded.removeLast()
      openIfBounded()
    case .reading where partitions.contains { $0.number == partition && !$0.isTakenOver }:
      partitions.removeAll { $0.number == partition }
      resumeIfRestored()
    default: preconditionFailure("a stop of partition \(partition) in state \(state)")
    }
    stopped[partition] = error
  }

  private mutating func resumeIfRestored() {
    if partitions.allSatisfy(\.isTakenOver) { state = .resuming }
  }

  /// The input is read.
  mutating func finish() {
    guard case .resuming = state else { preconditionFailure("an end in state \(state)") }
    state = .done
  }
}
