import Changesets
import FeedClient
import Kafka

/// Decides which partitions of the changesets topic a process follows. A state machine without clients and without a clock.
///
/// With standby it follows other processes' partitions that fit into the limit (``StandbyChoice``). If it serves feeds, it also
/// follows its workers' partitions: one that a worker takes is still followed, and so is one that a worker gives up, if it fits.
struct StandbyPlan {
  private let servesFeeds: Bool
  /// The limit on the state of partitions without a worker here; nil without standby.
  private let standbyBytes: Int?
  /// Determines the first partition in the order of standby.
  private let seed: UInt64
  /// Nil without standby, and before a worker has restored its first assignment.
  private(set) var choice: StandbyChoice?
  /// The partitions of the workers to serve.
  private var served: Set<Int32> = []
  /// Partitions that workers have taken and not returned.
  private var owned: Set<Int32> = []
  /// The taken partitions that were followed before. They are still followed while they are restored.
  private var kept: Set<Int32> = []
  /// The latest progress of the client.
  private var progress: [Int32: PartitionProgress] = [:]
  /// For each partition, a time whose state has been read, in milliseconds of the monotonic clock. Before its end is
  /// reached: the time at which reading began.
  private var asOf: [Int32: Int64] = [:]
  private(set) var status = StandbyStatus()
  /// Partitions that were logged as too large, and those that were logged as followed.
  private var loggedTooLarge: Set<Int32> = []
  private var loggedFollowed: [Int32] = []

  /// The maximum age of a followed partition's state. A deletion is published with nulls, which compaction removes after
  /// `delete.retention.ms`: a reader that continues later would keep deleted feeds. The topic needs at least an hour, and the
  /// rest has to be read.
  private static let maximumAgeMilliseconds: Int64 = 30 * 60_000

  init(servesFeeds: Bool, standbyBytes: Int?, seed: UInt64) {
    self.servesFeeds = servesFeeds
    self.standbyBytes = standbyBytes
    self.seed = seed
  }

  /// The partitions to follow.
  var wanted: Set<Int32> { served.union(kept).union(onStandby) }

  private var onStandby: [Int32] {
    choice?.numbers { $0 == .reading || $0 == .followed } ?? []
  }

  // MARK: Workers

  mutating func serve(_ partitions: Set<Int32>) { served = partitions }

  /// A worker has restored its first assignment: with standby, other partitions are followed from now on.
  mutating func begin(partitions count: Int32, at now: Int64) {
    guard let standbyBytes, choice == nil, count > 0 else { return }
    choice = StandbyChoice(partitions: count, from: Int32(seed % UInt64(count)), maxBytes: standbyBytes)
    for number in owned { choice?.own(number) }
    _ = choice?.begin(at: now)
  }

  /// A worker restores a partition.
  ///
  /// - Parameters:
  ///   - position: the offset before which all records were followed; nil if the partition is not followed.
  ///   - ends: the partition's current ends. If the position is not between them, the partition was truncated or
  ///     recreated.
  /// - Returns: whether the restoration can continue from there.
  mutating func take(_ number: Int32, at position: Int64?, within ends: Watermarks, now: Int64) -> Bool {
    owned.insert(number)
    choice?.own(number)
    if servesFeeds, progress[number] != nil { kept.insert(number) }
    defer { if !servesFeeds { progress[number] = nil } }
    guard let position, let asOf = asOf[number], now - asOf <= Self.maximumAgeMilliseconds,
      ends.low <= position && position <= max(ends.low, ends.high)
    else {
      status.coldTakeovers += 1
      return false
    }
    status.warmTakeovers += 1
    return true
  }

  /// A worker's partition cannot be restored, so it is not served either.
  mutating func stop(_ number: Int32) { kept.remove(number) }

  /// A worker has given up a partition.
  ///
  /// - Parameter size: the size of the returned feeds, in bytes; nil if none are returned.
  mutating func giveBack(_ number: Int32, bytes size: Int? = nil, at now: Int64) {
    owned.remove(number)
    kept.remove(number)
    if size != nil { asOf[number] = now }
    choice?.release(number, bytes: size ?? progress[number]?.stateBytes)
  }

  // MARK: The client

  /// The client has made progress.
  ///
  /// - Parameter partitions: all followed partitions.
  /// - Returns: the log entries.
  mutating func note(_ partitions: [PartitionProgress], at now: Int64) -> [StandbyNews] {
    let before = progress
    progress = Dictionary(uniqueKeysWithValues: partitions.map { ($0.number, $0) })
    // A partition that a worker has just returned may not be followed yet.
    asOf = asOf.filter { [onStandby] in progress[$0.key] != nil || onStandby.contains($0.key) }
    for partition in partitions where partition.standing == .upToDate || asOf[partition.number] == nil {
      asOf[partition.number] = now
    }
    guard choice != nil else { return [] }
    var news: [StandbyNews] = []
    for partition in partitions { noteOnStandby(partition, since: before[partition.number], &news) }
    for number in choice?.giveUpExcess(at: now) ?? [] where loggedTooLarge.insert(number).inserted {
      news.append(.tooLarge(number, limit: standbyBytes ?? 0))
    }
    _ = choice?.begin(at: now)
    updateStatus()
    loggedTooLarge.subtract(status.followed)
    if status.reading.isEmpty, status.followed != loggedFollowed {
      loggedFollowed = status.followed
      news.append(.upToDate(followed: status.followed.count, bytes: status.bytes))
    }
    return news
  }

  private mutating func noteOnStandby(
    _ partition: PartitionProgress,
    since before: PartitionProgress?,
    _ news: inout [StandbyNews]
  ) {
    let number = partition.number
    switch choice?.state(of: number) {
    case .reading?, .followed?: break
    case .waiting?, .owned?, .tooLarge?, .damaged?, nil: return
    }
    // A partition that was truncated or recreated is read from its beginning, and its counts start at 0.
    if let before, partition.records < before.records {
      news.append(.restarted(number, position: before.position))
    }
    status.records += partition.records - min(partition.records, before?.records ?? 0)
    status.recordBytes += partition.recordBytes - min(partition.recordBytes, before?.recordBytes ?? 0)
    if let damage = partition.damage {
      choice?.damage(number)
      news.append(.damaged(number, reason: damage))
      return
    }
    choice?.note(bytes: partition.stateBytes, of: number)
    if partition.standing != .bootstrapping { choice?.reachEnd(number) }
  }

  /// The client has discarded its state, and starts over.
  mutating func reset() {
    progress = [:]
    asOf = [:]
    kept = []
    for number in onStandby { choice?.restart(number) }
    updateStatus()
  }

  private mutating func updateStatus() {
    guard let choice else { return }
    status.followed = choice.numbers { $0 == .followed }
    status.reading = choice.numbers { $0 == .reading || $0 == .waiting }
    status.tooLarge = choice.numbers { if case .tooLarge = $0 { true } else { false } }
    status.damaged = choice.numbers { $0 == .damaged }
    status.bytes = choice.bytes
    status.lag = onStandby.compactMap { progress[$0] }.reduce(0) { lag, partition in
      lag + max(0, (partition.knownEnd ?? partition.position) - partition.position)
    }
  }
}
