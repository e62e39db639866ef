import Changesets
import FeedClient
import FeedWorker
import Kafka

/// Decides which partitions of the changesets topic a process that serves feeds over HTTP follows. A state machine without
/// clients and without a clock.
///
/// It follows the partitions of its workers, and with standby those of others that fit into the bound (``StandbyChoice``). A
/// partition that a worker takes over is followed on, because its feeds are served; and so is one that a worker gives up, if
/// it fits.
struct FollowPlan {
  /// The bound on the state of partitions that no worker has; nil without standby.
  private let standbyBytes: Int?
  /// What the first partition in the order of standby follows from.
  private let seed: UInt64
  /// Nil without standby, and before a worker has restored what it was assigned first.
  private(set) var choice: StandbyChoice?
  /// The partitions to serve, as the workers have them.
  private var served: Set<Int32> = []
  /// Partitions that workers have taken, and not given back.
  private var owned: Set<Int32> = []
  /// Those of them that were followed when they were taken: they are followed on while they are restored.
  private var kept: Set<Int32> = []
  /// What the follower has told last.
  private var progress: [Int32: PartitionProgress] = [:]
  /// A time by which everything was read that a partition had then, in milliseconds of the monotonic clock; before its end
  /// is reached, the time at which reading began.
  private var asOf: [Int32: Int64] = [:]
  private var report = StandbyReport()

  init(standbyBytes: Int?, seed: UInt64) {
    self.standbyBytes = standbyBytes
    self.seed = seed
  }

  var figures: StandbyFigures { report.figures }
  /// The partitions to follow.
  var wanted: Set<Int32> { served.union(kept).union(onStandby) }

  private var onStandby: [Int32] {
    choice?.numbers { $0 == .reading || $0 == .followed } ?? []
  }

  // MARK: Workers

  /// The workers have other partitions to serve.
  mutating func serve(_ partitions: Set<Int32>) { served = partitions }

  /// A worker has restored what it was assigned first: with standby, others are followed from now on.
  mutating func begin(partitions count: Int32, at now: Int64) {
    guard let standbyBytes, choice == nil, count > 0 else { return }
    choice = StandbyChoice(partitions: count, seed: seed, maxBytes: standbyBytes)
    for number in owned { choice?.own(number) }
    _ = choice?.begin(at: now)
  }

  /// A worker restores a partition.
  ///
  /// - Parameters:
  ///   - position: everything before this offset was followed; nil if the partition is not followed.
  ///   - ends: where the partition begins and ends now.
  /// - Returns: whether the restoration can continue from there.
  mutating func take(_ number: Int32, at position: Int64?, within ends: Watermarks, now: Int64) -> Bool {
    owned.insert(number)
    choice?.own(number)
    if progress[number] != nil { kept.insert(number) }
    var isUsable = false
    if let position, let asOf = asOf[number] {
      isUsable = FollowedPosition(offset: position, asOf: asOf).isUsable(within: ends, at: now)
    }
    report.countTakeover(isWarm: isUsable)
    return isUsable
  }

  /// A partition that a worker has taken cannot be restored, so it is not served either.
  mutating func stop(_ number: Int32) { kept.remove(number) }

  /// A worker has given up a partition.
  mutating func giveBack(_ number: Int32) {
    owned.remove(number)
    kept.remove(number)
    choice?.release(number, bytes: progress[number]?.stateBytes)
  }

  // MARK: The follower

  /// The follower has told how far it is.
  ///
  /// - Parameter partitions: all that it follows.
  mutating func note(_ partitions: [PartitionProgress], at now: Int64) -> [StandbyNews] {
    let before = progress
    progress = Dictionary(uniqueKeysWithValues: partitions.map { ($0.number, $0) })
    asOf = asOf.filter { progress[$0.key] != nil }
    for partition in partitions where partition.standing == .upToDate || asOf[partition.number] == nil {
      asOf[partition.number] = now
    }
    guard choice != nil else { return [] }
    var news: [StandbyNews] = []
    for partition in partitions { noteOnStandby(partition, since: before[partition.number], &news) }
    for number in report.newlyTooLarge(choice?.giveUpExcess(at: now) ?? []) {
      news.append(.tooLarge(number, limit: standbyBytes ?? 0))
    }
    _ = choice?.begin(at: now)
    updateReport()
    if report.isNewlyUpToDate() {
      news.append(.upToDate(followed: figures.followed.count, bytes: figures.bytes))
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
    // A partition that was read anew counts from 0.
    report.figures.records += partition.records - min(partition.records, before?.records ?? 0)
    report.figures.recordBytes += partition.recordBytes - min(partition.recordBytes, before?.recordBytes ?? 0)
    if let damage = partition.damage {
      choice?.damage(number)
      news.append(.damaged(number, reason: damage))
      return
    }
    choice?.note(bytes: partition.stateBytes, of: number)
    if partition.standing != .bootstrapping { choice?.reachEnd(number) }
  }

  /// The follower has lost everything, and begins again.
  mutating func reset() {
    progress = [:]
    asOf = [:]
    kept = []
    for number in onStandby { choice?.restart(number) }
    updateReport()
  }

  private mutating func updateReport() {
    guard let choice else { return }
    let lag: Int64 = onStandby.reduce(0) { lag, number in
      guard let partition = progress[number], let end = partition.knownEnd else { return lag }
      return lag + max(0, end - partition.position)
    }
    report.update(choice, lag: lag)
  }
}
