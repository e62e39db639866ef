import Changesets
import Feed
import FeedKafka

/// What ``Standby`` has under its lock.
///
/// Unchecked: the partitions are objects, which nobody has outside of it.
struct StandbyState: @unchecked Sendable {
  /// Of the follower's thread: whatever is here is read with it.
  private let indexer = JSONIndexer()
  /// Nil before a worker knows the topics and has restored what it was assigned first.
  var choice: StandbyChoice?
  var partitions: [Int32: StandbyPartition] = [:]
  /// Those that the client reads, although they are not followed any more.
  var closing: Set<Int32> = []
  /// Those that workers have, while `choice` is not known.
  private var ownedEarly: Set<Int32> = []
  /// A time at which everything that the brokers had was read, in milliseconds of the monotonic clock.
  var lastIdle: Int64 = 0
  var report = StandbyReport()

  /// What the client is to do next; partitions to be removed come first.
  struct Change {
    var removed: Set<Int32> = []
    var added: [Int32: Int64] = [:]
  }

  /// Begins to follow partitions, once.
  mutating func begin(_ choice: StandbyChoice) {
    guard self.choice == nil else { return }
    self.choice = choice
    for number in ownedEarly { self.choice?.own(number) }
  }

  // MARK: Workers

  /// A worker restores a partition: what is known of it is its own from here on.
  mutating func take(_ number: Int32) -> StandbyPartition? {
    guard choice != nil else {
      ownedEarly.insert(number)
      return nil
    }
    choice?.own(number)
    return drop(number)
  }

  /// A worker has given up a partition.
  mutating func release(_ number: Int32, _ known: ReadPartition?, at now: Int64) {
    ownedEarly.remove(number)
    guard choice != nil else { return }
    choice?.release(number, bytes: known?.stateBytes)
    guard let known else { return }
    known.replicas.use(indexer)
    partitions[number] = StandbyPartition(known, at: now)
  }

  // MARK: The client

  /// Follows a partition no more.
  @discardableResult
  mutating func drop(_ number: Int32) -> StandbyPartition? {
    guard let dropped = partitions.removeValue(forKey: number) else { return nil }
    if dropped.isOpen { closing.insert(number) }
    return dropped
  }

  /// What the client has to do, until ``apply(_:)``.
  mutating func nextChange(_ topic: String, at now: Int64) -> Change {
    for number in choice?.begin(at: now) ?? [] {
      let changesets = ReadPartition(topic, number, indexer: indexer)
      partitions[number] = StandbyPartition(changesets, at: now)
    }
    var change = Change(removed: closing)
    for (number, partition) in partitions where !partition.isOpen {
      change.added[number] = partition.changesets.position
    }
    return change
  }

  /// The client has done so. Nothing that it hands out from now on is from before.
  mutating func apply(_ change: Change) {
    closing.subtract(change.removed)
    for (number, position) in change.added {
      if let partition = partitions[number], !partition.isOpen, partition.changesets.position == position {
        partitions[number]?.isOpen = true
      } else {
        // A worker has taken it meanwhile, and may have given it back.
        closing.insert(number)
      }
    }
  }

  /// The client is another one, and reads nothing yet.
  mutating func closeAll() {
    closing = []
    for number in partitions.keys { partitions[number]?.isOpen = false }
  }

  // MARK: Records

  /// What becomes of a partition when a record of it comes.
  enum Outcome {
    case taken
    /// It was truncated or recreated, and is read from its beginning.
    case restarted(position: Int64)
    case damaged(DaemonError)
  }

  mutating func take(_ record: some ConsumedRecord) -> Outcome {
    let number = record.partition
    guard let partition = partitions[number], partition.isOpen else { return .taken }
    let changesets = partition.changesets
    guard record.offset >= changesets.position else {
      choice?.restart(number)
      drop(number)
      return .restarted(position: changesets.position)
    }
    if partition.isAtEnd {
      partitions[number]?.asOf = partition.latestTime(lastIdle: lastIdle)
      partitions[number]?.isAtEnd = false
    }
    report.figures.records += 1
    report.figures.recordBytes += record.size
    if let error = changesets.restore(record) {
      choice?.damage(number)
      drop(number)
      return .damaged(error)
    }
    choice?.note(bytes: changesets.stateBytes, of: number)
    return .taken
  }

  mutating func noteEnd(of number: Int32, at offset: Int64, now: Int64) {
    guard let partition = partitions[number], partition.isOpen else { return }
    partition.changesets.reachEnd(at: offset)
    partitions[number]?.isAtEnd = true
    partitions[number]?.asOf = now
    choice?.reachEnd(number)
  }

  /// Gives up what there is no room for.
  ///
  /// - Returns: the partitions of which that was not told yet.
  mutating func giveUpExcess(at now: Int64) -> [Int32] {
    let excess = choice?.giveUpExcess(at: now) ?? []
    for number in excess { drop(number) }
    return report.newlyTooLarge(excess)
  }

  // MARK: Looking

  /// Puts together what is told.
  ///
  /// - Parameter knownEnd: the end of a partition that is read.
  /// - Returns: whether everything is followed that is to be, and other partitions than when that was so last.
  @discardableResult
  mutating func updateFigures(_ knownEnd: (Int32) -> Int64?) -> Bool {
    guard let choice else { return false }
    let lag: Int64 = partitions.reduce(0) { lag, entry in
      guard entry.value.isOpen, let end = knownEnd(entry.key) else { return lag }
      return lag + max(0, end - entry.value.changesets.position)
    }
    report.update(choice, lag: lag)
    return report.isNewlyUpToDate()
  }
}
