import Feed

/// One partition of the changesets topic: its replicas, how far it was read, and what its feeds lack.
final class FollowedPartition {
  let number: Int32
  /// Everything before it was read.
  private(set) var position: Int64
  /// The feeds to follow; nil for all. Records of others are passed over before they are decoded.
  private let kept: Set<ByteText>?
  /// Where a saved state ends: before it, only the records of feeds that are `behind` are read.
  private let savedPosition: Int64
  /// Feeds that were saved while a changeset of theirs had come in part, and the offsets that they are read from.
  private var behind: [ByteText: Int64]
  /// Whatever is at `position` and after it was written after this time, in milliseconds since 1970.
  private var asOf: Int64
  /// Whether its end was reached once, so that its feeds are known.
  private(set) var isBootstrapped = false
  private var isAtEnd = false
  private let replicas: ReplicaPartition
  /// Feeds that cannot be followed until their next reload, with the reason.
  private var lost: [ByteText: String] = [:]
  /// The values of the changesets that have come in part.
  private var parts: [ByteText: [[UInt8]]] = [:]
  /// What the first of them say of why they are what they are.
  private var plansOfParts: [ByteText: ChangesetPlan] = [:]
  /// How the latest changeset of each feed was published, where feeds are followed by name.
  private var lastChangesets: [ByteText: LastChangeset] = [:]
  /// The offsets of their first parts.
  private var firstParts: [ByteText: Int64] = [:]

  /// What a record meant for those who follow a feed.
  enum News {
    case changed(ByteText, FeedChangeset)
    /// It changed, and how was not kept.
    case changedUnseen(ByteText)
    case lost(ByteText, reason: String)
    /// The feed went, by a changeset unless that was slept through.
    case removed(ByteText, changeset: [UInt8]?)
  }

  /// A partition that is read from its beginning, or from what was saved of it.
  ///
  /// - Parameters:
  ///   - position: the offset of its first record; what was saved has its own.
  ///   - asOf: when the reading begins, or earlier.
  init(
    _ number: Int32,
    position: Int64,
    keeping kept: Set<ByteText>? = nil,
    asOf: Int64 = 0,
    loaded: LoadedPartition? = nil
  ) {
    self.number = number
    self.kept = kept
    self.position = loaded?.saved.firstOffset ?? position
    self.asOf = loaded?.saved.asOf ?? asOf
    savedPosition = loaded?.saved.position ?? 0
    behind = loaded?.saved.behind ?? [:]
    replicas = loaded?.replicas ?? ReplicaPartition(describesChanges: false)
    lost = loaded?.lost ?? [:]
  }

  var standing: FeedStanding { !isBootstrapped ? .bootstrapping : isAtEnd ? .upToDate : .catchingUp }

  // MARK: Reading

  /// Takes the next record.
  ///
  /// - Parameters:
  ///   - keepsChanges: whether somebody is to be told what changed.
  ///   - lastIdle: a time at which everything that the brokers had was read, in milliseconds since 1970.
  ///   - plan: what the record's header says of why the changeset is what it is; read only where it is of use.
  /// - Throws: the fault of a record that is none of a changesets topic's.
  func take(
    offset: Int64,
    key: ByteSpan,
    value: ByteSpan?,
    keepsChanges: Bool,
    lastIdle: Int64 = 0,
    plan: () -> ChangesetPlan? = { nil }
  ) throws(ReplicaFault) -> News? {
    position = offset + 1
    if isAtEnd { asOf = max(asOf, lastIdle) }
    isAtEnd = false
    let feed = RecordKey(key).map { ByteText($0.feed) }
    if let feed, isPassedOver(feed, offset) { return nil }
    replicas.describesChanges = keepsChanges
    let outcome = try replicas.apply(key: key, value: value)
    guard let feed else { return nil }
    noteParts(of: feed, outcome, offset)
    let isPlanUsed = keepsChanges || kept != nil
    switch outcome {
    case .applied(let change):
      // Of a changeset in parts, the first one says it.
      let plan = plansOfParts.removeValue(forKey: feed) ?? (isPlanUsed ? plan() : nil)
      if kept != nil {
        lastChangesets[feed] = LastChangeset(mode: change.mode, reason: change.reason, plan: plan)
      }
      return applied(change, feed, value, plan, offset: offset, keepsChanges: keepsChanges)
    case .removed:
      lost[feed] = nil
      parts[feed] = nil
      plansOfParts[feed] = nil
      lastChangesets[feed] = nil
      return .removed(feed, changeset: value.map { Array($0.buffer) })
    case .skipped:
      // Deltas without a reload, of a feed that is deleted now.
      guard value == nil, !lost.isEmpty, replicas.replica(of: feed.string) == nil else { return nil }
      return lost.removeValue(forKey: feed) == nil ? nil : .removed(feed, changeset: nil)
    case .waitingForParts(let received, _):
      if received == 1 { plansOfParts[feed] = isPlanUsed ? plan() : nil }
      guard keepsChanges, let value else { return nil }
      if received == 1 { parts[feed] = [] }
      parts[feed]?.append(Array(value.buffer))
      return nil
    case .gap(let revision?, let base):
      return lose(feed, "the replica has revision \(revision), and the changeset has base \(base)")
    case .gap(nil, let base):
      return lose(feed, "a changeset with base \(base) arrived without a reload before it")
    case .otherEpoch: return lose(feed, "a changeset of another epoch arrived without a reload before it")
    case .mismatch(let fault): return lose(feed, fault.message)
    }
  }

  /// Whether a record is not to be read: of a feed that is not followed, or that was saved after it.
  private func isPassedOver(_ feed: ByteText, _ offset: Int64) -> Bool {
    if kept?.contains(feed) == false { return true }
    guard offset < savedPosition else { return false }
    return offset < behind[feed] ?? .max
  }

  /// Notes where a changeset began of which not all has come.
  private func noteParts(of feed: ByteText, _ outcome: ReplicaOutcome, _ offset: Int64) {
    if case .waitingForParts(1, _) = outcome {
      firstParts[feed] = offset
    } else if replicas.isWaitingForParts(of: feed) {
      firstParts[feed] = firstParts[feed] ?? offset
    } else if !firstParts.isEmpty {
      firstParts[feed] = nil
    }
  }

  private func applied(
    _ change: ReplicaChange,
    _ feed: ByteText,
    _ value: ByteSpan?,
    _ plan: ChangesetPlan?,
    offset: Int64,
    keepsChanges: Bool
  ) -> News? {
    lost[feed] = nil
    let earlier = parts.removeValue(forKey: feed) ?? []
    guard keepsChanges, let value else { return nil }
    // What is left of a changeset that was never completed does not belong to this one.
    let values = (value.count == change.byteCount ? [] : earlier) + [Array(value.buffer)]
    let isWhole = values.reduce(0) { $0 + $1.count } == change.byteCount
    guard isWhole, change.mode == .reload || change.difference != nil else { return .changedUnseen(feed) }
    return .changed(
      feed,
      FeedChangeset(change: change, values: values, plan: plan, partition: number, offset: offset)
    )
  }

  private func lose(_ feed: ByteText, _ reason: String) -> News? {
    parts[feed] = nil
    plansOfParts[feed] = nil
    guard lost[feed] == nil else { return nil }
    lost[feed] = reason
    return .lost(feed, reason: reason)
  }

  /// Notes that the partition was read to its end.
  ///
  /// - Parameter lastIdle: the time since which the end may have waited to be noted, in milliseconds since 1970.
  /// - Returns: whether it is the first time.
  func noteEnd(at offset: Int64, lastIdle: Int64 = 0) -> Bool {
    position = max(position, offset)
    isAtEnd = true
    asOf = max(asOf, lastIdle)
    defer { isBootstrapped = true }
    return !isBootstrapped
  }

  // MARK: Feeds

  /// The feeds of which anything is known.
  var feeds: [ByteText] {
    let known = replicas.replicas.map { ByteText($0.feed) }
    return known + lost.keys.filter { replicas.replica(of: $0.string) == nil }
  }

  /// Why a feed cannot be followed; nil if it can.
  func reasonForLoss(of feed: ByteText) -> String? { lost[feed] }

  func hasReplica(of feed: ByteText) -> Bool { replicas.replica(of: feed.string) != nil }

  /// A feed as it is now; nil if there is none.
  func content(of feed: ByteText) -> FeedContent? { replicas.replica(of: feed.string).flatMap(content) }

  /// The feeds, sorted by the bytes of their ids.
  var descriptions: [FeedDescription] { replicas.replicas.compactMap(description) }

  /// The feeds and what is in them, sorted by the bytes of their ids.
  var contents: [FeedContent] { replicas.replicas.compactMap(content) }

  private func content(_ replica: Replica) -> FeedContent? {
    description(replica).map { FeedContent(description: $0, snapshot: replica.snapshot()) }
  }

  /// What is known of a feed besides its content; nil if there is none.
  func description(of feed: ByteText) -> FeedDescription? {
    replicas.replica(of: feed.string).flatMap(description)
  }

  private func description(_ replica: Replica) -> FeedDescription? {
    guard let version = replicas.version(of: replica.feed) else { return nil }
    return FeedDescription(
      feed: replica.feed,
      partition: number,
      position: position,
      version: version,
      timeMilliseconds: replica.timeMilliseconds,
      sectionCount: replica.sectionCount,
      itemCount: replica.itemCount,
      checksum: replica.checksum,
      standing: lost[ByteText(replica.feed)] == nil ? standing : .mustRefetch,
      lastChangeset: lastChangesets[ByteText(replica.feed)]
    )
  }

  // MARK: Saving

  /// What it is now, to be saved. O(n log n) for n feeds, whatever is in them.
  ///
  /// - Parameter lastIdle: a time at which everything that the brokers had was read, in milliseconds since 1970.
  func capture(lastIdle: Int64) -> PartitionCapture {
    // Of what was saved before, feeds that are behind may be anywhere up to where the others are.
    var behind = position < savedPosition ? self.behind.mapValues { max($0, position) } : [:]
    behind.merge(firstParts) { $1 }
    return PartitionCapture(
      partition: SavedPartition(
        number: number,
        position: max(position, savedPosition),
        behind: behind,
        asOf: isAtEnd ? max(asOf, lastIdle) : asOf
      ),
      feeds: replicas.savedFeeds,
      lost: lost
    )
  }
}
