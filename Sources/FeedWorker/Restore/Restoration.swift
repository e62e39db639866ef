import FeedConfiguration
import FeedKafka
import FeedTransactions
import Kafka

/// Restores assigned partitions: decides what to do next, from the results of the previous steps.
///
/// A partition here is the input partitions and the changesets partition with one number. Each is restored independently, and
/// its input is read as soon as its feeds are in the store. Partitions may be added and removed at any time. One that an open
/// transaction delays does not delay the others, and one whose feeds cannot be restored is stopped, along with its inputs.
///
/// ``Restorer`` executes the steps. Between any two of them the worker polls the group and serves the restored partitions. A
/// step that fails temporarily is repeated.
struct Restoration {
  enum State: Equatable {
    /// The group's committed offsets are needed. Brokers do not report them while a transaction with offsets is open.
    case needsOffsets
    /// The ends of the next input partition are needed.
    case needsInputEnds
    /// The end of the changesets partition is needed. It is requested only after the offsets are known, because the topic
    /// then contains their changesets.
    case needsEnd
    /// The changesets partition has to be opened.
    case opening(RestoreRange)
    /// The changesets partition is read, and then passed to the store.
    case reading(RestoreRange)
    /// The feeds are restored; the input has to be resumed.
    case resuming
  }

  /// The next action.
  enum Step: Equatable {
    case nothing
    /// Request the committed offsets, then ``setOffsets(_:)``; or ``stop(partition:_:)``.
    case requestOffsets([TopicPartition])
    /// Request the ends of an input partition, then ``setInputEnds(_:_:)``.
    case requestInputEnds(TopicPartition)
    /// Request the ends of a changesets partition, including aborted and open transactions, then
    /// ``setEnd(_:from:)``, or ``stop(partition:_:)``.
    case requestEnd(partition: Int32)
    /// Also read these partitions, then ``open()``.
    case open([RestoreRange])
    /// Read from any partition, then ``advance(to:)``, and ``stop(partition:_:)`` for unreadable ones.
    case read
    /// Pass the feeds of a partition to the store, then ``takeOver(partition:)``, or ``stop(partition:_:)``.
    case takeOver(partition: Int32)
    /// Seek to the start of these partitions' input and resume it, then ``finish()``.
    case resume([InputStart])
  }

  /// A partition that is being restored.
  private struct Entry {
    var state = State.needsOffsets
    let inputs: [TopicPartition]
    var committed: [TopicPartition: CommittedOffset] = [:]
    /// The known starts of its inputs.
    var starts: [InputStart] = []
    /// Whether it continues from standby.
    var usesStandby = false
    /// Whether its standby data is damaged.
    var isStandbyDamaged = false
    /// The range of the changesets partition to read; nil if unknown.
    var restored: RestoreRange? {
      switch state {
      case .opening(let partition), .reading(let partition): partition
      default: nil
      }
    }
  }

  /// The partitions that are being restored.
  private var entries: [Int32: Entry] = [:]
  /// Their numbers, sorted.
  private var numbers: [Int32] = []
  /// The reasons why partitions cannot be restored, by number. Their inputs stay paused.
  private(set) var stopped: [Int32: DaemonError] = [:]

  // MARK: State

  var isUnderWay: Bool { !entries.isEmpty }
  /// The changesets partitions still being read, sorted.
  var unread: [RestoreRange] {
    numbers.compactMap { entries[$0]?.restored }.filter { !$0.isRead }
  }

  /// The inputs of the partitions whose changesets are still read.
  var unreadInputs: [TopicPartition] { unread.flatMap { entries[$0.number]?.inputs ?? [] } }

  /// Whether the restoration of a partition continues from standby.
  func usesStandby(_ partition: Int32) -> Bool { entries[partition]?.usesStandby == true }

  /// Whether the restoration of a partition may continue from standby.
  func mayUseStandby(_ partition: Int32) -> Bool { entries[partition]?.isStandbyDamaged == false }

  /// The state of a partition; nil if it is not being restored.
  func state(of partition: Int32) -> State? { entries[partition]?.state }

  var step: Step {
    if let step = firstStep { return step }
    let resumed = all(.resuming)
    if !resumed.isEmpty { return .resume(resumed.flatMap { entries[$0]?.starts ?? [] }) }
    return unread.isEmpty ? .nothing : .read
  }

  /// The steps before reading, and before input is resumed.
  private var firstStep: Step? {
    let unknown = all(.needsOffsets)
    if !unknown.isEmpty { return .requestOffsets(unknown.flatMap { entries[$0]?.inputs ?? [] }) }
    if let (_, input) = inputWithoutEnds { return .requestInputEnds(input) }
    if let partition = all(.needsEnd).first { return .requestEnd(partition: partition) }
    let opened = numbers.compactMap { number -> RestoreRange? in
      guard case .opening(let partition)? = entries[number]?.state else { return nil }
      return partition
    }
    if !opened.isEmpty { return .open(opened) }
    return numbers.first { entries[$0]?.restored?.isRead == true }.map { .takeOver(partition: $0) }
  }

  private func all(_ state: State) -> [Int32] { numbers.filter { entries[$0]?.state == state } }

  /// The first input partition whose ends are needed, with its entry.
  private var inputWithoutEnds: (entry: Entry, input: TopicPartition)? {
    all(.needsInputEnds).first.flatMap { entries[$0] }.map { ($0, $0.inputs[$0.starts.count]) }
  }

  // MARK: Partitions

  /// Begins to restore partitions. Their inputs were assigned, and are paused. Earlier results are discarded.
  mutating func assign(_ partitions: [TopicPartition]) {
    for (number, inputs) in Dictionary(grouping: partitions, by: \.partition) {
      entries[number] = Entry(inputs: inputs.sorted { $0.topic < $1.topic })
      stopped[number] = nil
    }
    numbers = entries.keys.sorted()
  }

  /// Forgets partitions in any state.
  mutating func release(_ partitions: some Sequence<Int32>) {
    for number in partitions {
      entries[number] = nil
      stopped[number] = nil
    }
    numbers = entries.keys.sorted()
  }

  // MARK: Results of steps

  mutating func setOffsets(_ committed: [TopicPartition: CommittedOffset]) {
    let unknown = all(.needsOffsets)
    precondition(!unknown.isEmpty, "offsets that were not requested")
    for number in unknown {
      entries[number]?.committed = committed.filter { $0.key.partition == number }
      entries[number]?.state = .needsInputEnds
    }
  }

  /// Whether the group has committed an offset beyond these ends of the requested input partition.
  func isCommittedBeyond(_ ends: Watermarks) -> Bool {
    guard let (entry, input) = inputWithoutEnds, let committed = entry.committed[input] else { return false }
    return committed.offset > ends.high
  }

  /// The offset of an input partition that was committed when the restoration began, if any.
  func committed(of input: TopicPartition) -> Int64? { entries[input.partition]?.committed[input]?.offset }

  /// The metadata of an input partition's committed offset.
  func metadata(of input: TopicPartition) -> CommitMetadata {
    CommitMetadata(entries[input.partition]?.committed[input]?.metadata ?? "")
  }

  /// The starts of a partition's inputs, once known.
  func starts(of partition: Int32) -> [InputStart] { entries[partition]?.starts ?? [] }

  /// The minimum end of a changesets partition, by the metadata of the committed offsets; 0 if unknown.
  func leastEnd(of partition: Int32) -> Int64 {
    (entries[partition]?.committed ?? [:])
      .compactMap { CommitMetadata($0.value.metadata).changesetsEnd }.max() ?? 0
  }

  /// - Returns: the start of the input partition.
  /// - Throws: ``DaemonError`` if input is lost and the policy is to fail.
  @discardableResult
  mutating func setInputEnds(_ ends: Watermarks, _ policy: LostInputPolicy) throws(DaemonError) -> InputStart
  {
    guard let (known, input) = inputWithoutEnds else {
      preconditionFailure("an input's ends that were not requested")
    }
    var entry = known
    let start = try InputStart(input, committed: entry.committed[input]?.offset, ends, policy)
    entry.starts.append(start)
    if entry.starts.count == entry.inputs.count { entry.state = .needsEnd }
    entries[input.partition] = entry
    return start
  }

  /// Handles a record that a partition's feeds have taken beyond the end of its input.
  ///
  /// - Parameter ends: the current ends of the input.
  /// - Returns: the start of the input.
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

  /// - Parameter position: the offset before which all records were followed on standby; nil without standby.
  mutating func setEnd(_ ends: Watermarks, from position: Int64? = nil) {
    guard let partition = all(.needsEnd).first else { preconditionFailure("an end that was not requested") }
    let restored = RestoreRange(partition, ends, from: position)
    entries[partition]?.usesStandby = position != nil
    entries[partition]?.state = restored.isRead ? .reading(restored) : .opening(restored)
  }

  mutating func open() {
    for number in numbers {
      if case .opening(let partition)? = entries[number]?.state {
        entries[number]?.state = .reading(partition)
      }
    }
  }

  /// Everything before these offsets was read. They may be ends of partitions, because transaction markers occupy offsets
  /// but are not records.
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
      preconditionFailure("partition \(partition) is taken over, but has not been read")
    }
    entries[partition]?.state = .resuming
  }

  /// The standby data is damaged: the partition is read from its beginning.
  ///
  /// - Returns: false, without effect, if it is read from its beginning anyway.
  mutating func startOver(partition: Int32) -> Bool {
    guard entries[partition]?.usesStandby == true else { return false }
    guard case .reading? = entries[partition]?.state else {
      preconditionFailure("partition \(partition) starts over, but is not being read")
    }
    entries[partition]?.usesStandby = false
    entries[partition]?.isStandbyDamaged = true
    entries[partition]?.state = .needsEnd
    return true
  }

  /// The partition's feeds cannot be restored.
  mutating func stop(partition: Int32, _ error: DaemonError) {
    switch entries[partition]?.state {
    case .needsOffsets, .needsEnd, .reading: release([partition])
    default: preconditionFailure("partition \(partition) is stopped, but is not being restored")
    }
    stopped[partition] = error
  }

  /// The input of the restored partitions was resumed.
  mutating func finish() { release(all(.resuming)) }
}

/// The rate of a restoration, and when to log it: at most once a second. Time is a parameter.
struct RestoreProgress {
  private(set) var records = 0
  /// Bytes of the records' keys and values.
  private(set) var bytes = 0
  private let start: Int64
  private var lastLine: Int64
  private var lastRecords = 0

  static let intervalMilliseconds: Int64 = 1_000

  /// - Parameter now: the time in milliseconds.
  init(now: Int64) {
    start = now
    lastLine = now
  }

  mutating func add(records: Int, bytes: Int) {
    self.records += records
    self.bytes += bytes
  }

  /// Whether nothing was read since the last log line, because an open transaction delays the rest, or the brokers are
  /// slow. Nil if no log line is due.
  mutating func isWaiting(at now: Int64) -> Bool? {
    guard now - lastLine >= Self.intervalMilliseconds else { return nil }
    defer {
      lastLine = now
      lastRecords = records
    }
    return records == lastRecords
  }

  func milliseconds(at now: Int64) -> Int64 { max(0, now - start) }

  /// The mean rate since the start.
  func bytesPerSecond(at now: Int64) -> Int { bytes * 1_000 / Int(max(1, milliseconds(at: now))) }
}
