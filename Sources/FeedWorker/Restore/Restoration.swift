import FeedConfiguration
import FeedKafka
import Kafka

/// Leads from partitions that were assigned to their feeds restored and their input read: says what to do
/// next, and is told what came of it.
///
/// Each partition, that is the input partitions and the changesets partition of one number, goes its own way: its input is
/// read as soon as its feeds are in the store, whatever becomes of the others. Partitions may come and go at any time. One
/// that an open transaction keeps back does not hold up the others, and one whose feeds cannot be restored is left out,
/// with its inputs.
///
/// Whoever does it keeps polling the group consumer between any two steps, and serves what is restored. A step that fails for
/// a passing reason is simply done again.
struct Restoration {
  enum State: Equatable {
    /// The group's committed offsets are wanted, once no transaction with some is pending.
    case locating
    /// The ends of the partition's input of this index are wanted.
    case measuring(Int)
    /// How far the changesets partition has to be read is wanted. Not before the offsets are known: what belongs to them
    /// is then in the topic.
    case bounding
    /// The reading of the changesets partition has to begin.
    case opening(RestoredPartition)
    /// The changesets partition is read, and then handed to the store.
    case reading(RestoredPartition)
    /// The feeds are restored; the input has to be set going.
    case resuming
    /// The input is read.
    case done
    /// The feeds cannot be restored. The inputs stay paused.
    case stopped(DaemonError)
  }

  /// What is to be done next.
  enum Step: Equatable {
    case nothing
    /// Ask for the committed offsets, then ``locate(_:)``; or ``stop(partition:_:)``.
    case locate([TopicPartition])
    /// Ask where an input partition begins and ends, then ``measure(_:_:)``.
    case measure(TopicPartition)
    /// Ask where a changesets partition begins and ends, aborted and open transactions included, then
    /// ``bound(_:)``, or ``stop(partition:_:)``.
    case bound(partition: Int32)
    /// Begin to read these from their beginnings as well, then ``open()``.
    case open([RestoredPartition])
    /// Read on, whatever partition has something, then ``advance(to:)``, and ``stop(partition:_:)`` for what is
    /// unreadable.
    case read
    /// Hand the feeds of a partition to the store, then ``takeOver(partition:)``, or ``stop(partition:_:)``.
    case takeOver(partition: Int32)
    /// Seek to where the input of these partitions begins and resume it, then ``finish()``.
    case resume([InputStart])
  }

  /// One partition's way.
  private struct Entry {
    var state = State.locating
    /// The input partitions, sorted.
    let inputs: [TopicPartition]
    var committed: [TopicPartition: CommittedOffset] = [:]
    /// Where their reading begins, as far as that is known.
    var starts: [InputStart] = []
    /// Whether it goes on from what was followed.
    var isContinued = false
    /// Whether what was followed has turned out to be of no use.
    var isAnew = false
    /// How much of the changesets partition was there to be read; nil before that is known.
    var restored: RestoredPartition? {
      switch state {
      case .opening(let partition), .reading(let partition): partition
      case .locating, .measuring, .bounding, .resuming, .done, .stopped: nil
      }
    }

    var isUnderWay: Bool {
      switch state {
      case .done, .stopped: false
      case .locating, .measuring, .bounding, .opening, .reading, .resuming: true
      }
    }
  }

  private var entries: [Int32: Entry] = [:]
  /// The numbers of the partitions, sorted.
  private var numbers: [Int32] = []

  // MARK: Looking

  /// Whether there is something to do before all input is taken.
  var isUnderWay: Bool { entries.values.contains(where: \.isUnderWay) }
  /// Partitions of which the feeds are being restored.
  var underWay: Set<Int32> { Set(entries.lazy.filter { $0.value.isUnderWay }.map(\.key)) }
  /// Why partitions cannot be restored, by number. Their inputs stay paused.
  var stopped: [Int32: DaemonError] {
    entries.compactMapValues { if case .stopped(let error) = $0.state { error } else { nil } }
  }
  /// The changesets partitions that are still read, sorted.
  var unread: [RestoredPartition] {
    numbers.compactMap { entries[$0]?.restored }.filter { !$0.isRead }
  }

  /// The inputs of the partitions whose changesets are still read.
  var unreadInputs: [TopicPartition] { unread.flatMap { entries[$0.number]?.inputs ?? [] } }

  /// Whether a partition's restoration went on from what was followed on standby.
  func isContinued(_ partition: Int32) -> Bool { entries[partition]?.isContinued == true }

  /// Whether a partition may go on from what was followed: not after that has turned out to be of no use.
  func mayContinue(_ partition: Int32) -> Bool { entries[partition]?.isAnew == false }

  /// Where a partition is; nil if it is not assigned.
  func state(of partition: Int32) -> State? { entries[partition]?.state }

  var step: Step {
    if let step = firstStep { return step }
    let resumed = all { $0 == .resuming }
    if !resumed.isEmpty { return .resume(resumed.flatMap { entries[$0]?.starts ?? [] }) }
    return unread.isEmpty ? .nothing : .read
  }

  /// What comes before reading, and before input is taken.
  private var firstStep: Step? {
    let located = all { $0 == .locating }
    if !located.isEmpty { return .locate(located.flatMap { entries[$0]?.inputs ?? [] }) }
    if let (_, input) = measured { return .measure(input) }
    if let partition = bounded { return .bound(partition: partition) }
    let opened = numbers.compactMap { number -> RestoredPartition? in
      guard case .opening(let partition)? = entries[number]?.state else { return nil }
      return partition
    }
    if !opened.isEmpty { return .open(opened) }
    return numbers.first { entries[$0]?.restored?.isRead == true }.map { .takeOver(partition: $0) }
  }

  private func all(where isMet: (State) -> Bool) -> [Int32] {
    numbers.filter { entries[$0].map { isMet($0.state) } == true }
  }

  /// The input partition whose ends are wanted, and its number.
  private var measured: (number: Int32, input: TopicPartition)? {
    for number in numbers {
      if let entry = entries[number], case .measuring(let index) = entry.state {
        return (number, entry.inputs[index])
      }
    }
    return nil
  }

  /// The changesets partition whose ends are wanted.
  private var bounded: Int32? { all { $0 == .bounding }.first }

  // MARK: Partitions come and go

  /// Input partitions were assigned, and are paused. What was restored of them before is forgotten.
  mutating func assign(_ partitions: [TopicPartition]) {
    for (number, inputs) in Dictionary(grouping: partitions, by: \.partition) {
      entries[number] = Entry(inputs: inputs.sorted { $0.topic < $1.topic })
    }
    numbers = entries.keys.sorted()
  }

  /// Partitions are gone, at whatever point.
  mutating func release(_ partitions: some Sequence<Int32>) {
    for number in partitions { entries[number] = nil }
    numbers = entries.keys.sorted()
  }

  // MARK: What came of a step

  /// The committed offsets are known.
  mutating func locate(_ committed: [TopicPartition: CommittedOffset]) {
    let located = all { $0 == .locating }
    precondition(!located.isEmpty, "offsets that were not asked for")
    for number in located {
      entries[number]?.committed = committed.filter { $0.key.partition == number }
      entries[number]?.state = .measuring(0)
    }
  }

  /// Whether the group has committed more of the input partition that is measured than there is.
  func isCommittedBeyond(_ ends: Watermarks) -> Bool {
    guard let (number, input) = measured, let offset = entries[number]?.committed[input]?.offset else {
      return false
    }
    return offset > ends.high
  }

  /// What was committed with an input partition's offset.
  func metadata(of input: TopicPartition) -> CommitMetadata {
    CommitMetadata(entries[input.partition]?.committed[input]?.metadata ?? "")
  }

  /// Where the reading of a partition's input begins, once that is known.
  func starts(of partition: Int32) -> [InputStart] { entries[partition]?.starts ?? [] }

  /// How far a changesets partition reaches at least, by what was committed with the offsets; 0 if that says nothing.
  func leastEnd(of partition: Int32) -> Int64 {
    (entries[partition]?.committed ?? [:])
      .compactMap { CommitMetadata($0.value.metadata).changesetsEnd }.max() ?? 0
  }

  /// The ends of an input partition are known.
  ///
  /// - Returns: where its reading begins.
  /// - Throws: ``DaemonError`` if input is lost and the policy is to fail.
  @discardableResult
  mutating func measure(_ ends: Watermarks, _ policy: LostInputPolicy) throws(DaemonError) -> InputStart {
    guard let (number, input) = measured, var entry = entries[number] else {
      preconditionFailure("an input's ends that were not asked for")
    }
    let start = try InputStart(input, committed: entry.committed[input]?.offset, ends, policy)
    entry.starts.append(start)
    entry.state = entry.starts.count < entry.inputs.count ? .measuring(entry.starts.count) : .bounding
    entries[number] = entry
    return start
  }

  /// Feeds of a partition have taken a record that its input does not reach.
  ///
  /// - Parameter ends: where the input begins and ends now.
  /// - Returns: where its reading begins.
  /// - Throws: ``DaemonError`` if the policy is to fail.
  mutating func restart(
    _ input: TopicPartition,
    taken: Int64,
    _ ends: Watermarks,
    _ policy: LostInputPolicy
  ) throws(DaemonError) -> InputStart {
    guard var entry = entries[input.partition],
      let index = entry.starts.firstIndex(where: { $0.position.topicPartition == input })
    else { preconditionFailure("a restart of \(input), whose ends are not known") }
    try entry.starts[index].restart(taken: taken, ends, policy)
    entries[input.partition] = entry
    return entry.starts[index]
  }

  /// The ends of the changesets partition are known.
  ///
  /// - Parameter position: everything before it was followed on standby; nil if nothing was.
  mutating func bound(_ ends: Watermarks, from position: Int64? = nil) {
    guard let partition = bounded else { preconditionFailure("a changesets partition's unasked ends") }
    let restored = RestoredPartition(partition, ends, from: position)
    entries[partition]?.isContinued = position != nil
    entries[partition]?.state = restored.isRead ? .reading(restored) : .opening(restored)
  }

  /// The reading has begun.
  mutating func open() {
    for number in numbers {
      if case .opening(let partition)? = entries[number]?.state {
        entries[number]?.state = .reading(partition)
      }
    }
  }

  /// Of each partition everything before its offset was read; it is that of an end of partition as well, as
  /// what ends a transaction takes up offsets and is no record.
  mutating func advance(to offsets: [Int32: Int64]) {
    for (number, offset) in offsets {
      guard case .reading(var partition)? = entries[number]?.state else { continue }
      partition.advance(to: offset)
      entries[number]?.state = .reading(partition)
    }
  }

  /// The partition's feeds are in the store.
  mutating func takeOver(partition: Int32) {
    guard case .reading(let restored)? = entries[partition]?.state, restored.isRead else {
      preconditionFailure("a take-over of partition \(partition), which is not read")
    }
    entries[partition]?.state = .resuming
  }

  /// What was followed of a partition on standby is of no use: it is read from its beginning after all.
  ///
  /// - Returns: false, and nothing happens, if that is where its reading began.
  mutating func beginAnew(partition: Int32) -> Bool {
    guard entries[partition]?.isContinued == true else { return false }
    guard case .reading? = entries[partition]?.state else {
      preconditionFailure("a new beginning of partition \(partition), which is not restored")
    }
    entries[partition]?.isContinued = false
    entries[partition]?.isAnew = true
    entries[partition]?.state = .bounding
    return true
  }

  /// The partition's feeds cannot be restored.
  mutating func stop(partition: Int32, _ error: DaemonError) {
    switch entries[partition]?.state {
    case .locating, .bounding, .reading: entries[partition]?.state = .stopped(error)
    default: preconditionFailure("a stop of partition \(partition), which is not restored")
    }
  }

  /// The input is read of the partitions that were to be resumed.
  mutating func finish() {
    for number in all(where: { $0 == .resuming }) { entries[number]?.state = .done }
  }
}
