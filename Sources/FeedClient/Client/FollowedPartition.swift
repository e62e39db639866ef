import Feed

/// One partition of the changesets topic: its replicas, its position, and the state of incomplete feeds.
final class FollowedPartition {
  let number: Int32
  /// All records before this offset have been read.
  private(set) var position: Int64
  /// The feeds to follow; nil for all. Records of other feeds are skipped without decoding.
  private let kept: Set<ByteText>?
  /// The end of the saved state. Before this offset, only records of feeds in `behind` are read.
  private let savedPosition: Int64
  /// Feeds that were saved in the middle of a changeset, with the offset from which each is read.
  private var behind: [ByteText: Int64]
  /// Records at `position` or later were written after this time, in milliseconds since 1970.
  private var asOf: Int64
  /// Whether the partition has been read to its end once, so that its feeds are known.
  private(set) var isBootstrapped = false
  private var isAtEnd = false
  private let replicas: ReplicaPartition
  /// The parts received so far of incomplete changesets.
  private var parts: [ByteText: [[UInt8]]] = [:]
  /// The plans in the headers of their first parts.
  private var plansOfParts: [ByteText: ChangesetPlan] = [:]
  /// How the latest changeset of each feed was published. Kept only if feeds are followed by name.
  private var lastChangesets: [ByteText: LastChangeset] = [:]
  /// The offsets of the first parts of incomplete changesets.
  private var firstParts: [ByteText: Int64] = [:]
  /// Records that were read, and bytes of their keys and values.
  private var records = 0
  private var recordBytes = 0
  /// The first reason why a store must not continue from these feeds: a record is malformed or does not fit.
  private var damage: String?

  /// What a record means to the subscribers of a feed.
  enum News {
    case changed(ByteText, FeedChangeset)
    /// The feed changed, but the change was not kept.
    case changedUnseen(ByteText, ChangesetMode)
    case lost(ByteText, reason: String)
    /// The feed was removed. `changeset` is nil if the deletion was found without its record.
    case removed(ByteText, changeset: [UInt8]?)
  }

  /// Creates a partition that is read from its beginning, from its saved state, or from where somebody else has read it.
  ///
  /// - Parameters:
  ///   - position: the offset of the first record; a saved state has its own.
  ///   - asOf: a time that is not later than the start of reading.
  init(
    _ number: Int32,
    position: Int64,
    keeping kept: Set<ByteText>? = nil,
    asOf: Int64 = 0,
    loaded: LoadedPartition? = nil,
    adopted: AdoptedPartition? = nil
  ) {
    self.number = number
    self.kept = kept
    self.position = adopted?.position ?? loaded?.saved.firstOffset ?? position
    self.asOf = loaded?.saved.asOf ?? asOf
    savedPosition = loaded?.saved.position ?? 0
    behind = loaded?.saved.behind ?? [:]
    replicas = adopted?.replicas ?? loaded?.replicas ?? ReplicaPartition(describesChanges: false)
  }

  var standing: FeedStanding { !isBootstrapped ? .bootstrapping : isAtEnd ? .upToDate : .catchingUp }

  // MARK: Reading

  /// Applies the next record.
  ///
  /// - Parameters:
  ///   - keepsChanges: whether to return the change, because a subscriber needs it.
  ///   - lastIdle: a time at which all available records had been read, in milliseconds since 1970.
  ///   - plan: decodes the plan from the record's headers. It is called only if the plan is used.
  /// - Returns: what it means, and the fault if it is not a valid record of a changesets topic.
  func take(
    offset: Int64,
    key: ByteSpan,
    value: ByteSpan?,
    keepsChanges: Bool,
    lastIdle: Int64 = 0,
    plan: () -> ChangesetPlan? = { nil }
  ) -> (news: News?, fault: ReplicaFault?) {
    position = offset + 1
    records += 1
    recordBytes += key.count + (value?.count ?? 0)
    if isAtEnd { asOf = max(asOf, lastIdle) }
    isAtEnd = false
    let feed = RecordKey(key).map { ByteText($0.feed) }
    if let feed, isPassedOver(feed, offset) { return (nil, nil) }
    replicas.describesChanges = keepsChanges
    do throws(ReplicaFault) {
      let outcome = try replicas.apply(key: key, value: value)
      if case .mismatch(let fault) = outcome { noteDamage(fault, at: offset) }
      guard let feed else { return (nil, nil) }
      let news = news(of: feed, outcome, value, plan, offset: offset, keepsChanges: keepsChanges)
      return (news ?? loss(of: feed), nil)
    } catch {
      noteDamage(error, at: offset)
      if let feed {
        noteParts(of: feed, nil, offset)
        dropParts(of: feed)
      }
      return (feed.flatMap(loss), error)
    }
  }

  private func news(
    of feed: ByteText,
    _ outcome: ReplicaOutcome,
    _ value: ByteSpan?,
    _ plan: () -> ChangesetPlan?,
    offset: Int64,
    keepsChanges: Bool
  ) -> News? {
    noteParts(of: feed, outcome, offset)
    let isPlanUsed = keepsChanges || kept != nil
    switch outcome {
    case .applied(let change):
      // Only the first part of a changeset carries the plan.
      let plan = plansOfParts.removeValue(forKey: feed) ?? (isPlanUsed ? plan() : nil)
      if kept != nil {
        lastChangesets[feed] = LastChangeset(mode: change.mode, reason: change.reason, plan: plan)
      }
      return applied(change, feed, value, plan, offset: offset, keepsChanges: keepsChanges)
    case .removed:
      dropParts(of: feed)
      lastChangesets[feed] = nil
      return .removed(feed, changeset: value.map { Array($0.buffer) })
    case .skipped: return nil
    case .waitingForParts(let received, _):
      if received == 1 { plansOfParts[feed] = isPlanUsed ? plan() : nil }
      guard keepsChanges, let value else { return nil }
      if received == 1 { parts[feed] = [] }
      parts[feed]?.append(Array(value.buffer))
      return nil
    case .gap, .otherEpoch, .mismatch:
      dropParts(of: feed)
      return nil
    }
  }

  /// The news that the last record made a feed stale.
  private func loss(of feed: ByteText) -> News? {
    guard replicas.hasBecomeStale, let reason = replicas.staleReason(of: feed) else { return nil }
    return .lost(feed, reason: reason)
  }

  private func dropParts(of feed: ByteText) {
    parts[feed] = nil
    plansOfParts[feed] = nil
  }

  private func noteDamage(_ fault: ReplicaFault, at offset: Int64) {
    if damage == nil { damage = "offset \(offset): \(fault.message)" }
  }

  /// Whether to skip a record: its feed is not followed, or the saved state already includes it.
  private func isPassedOver(_ feed: ByteText, _ offset: Int64) -> Bool {
    if kept?.contains(feed) == false { return true }
    guard offset < savedPosition else { return false }
    return offset < behind[feed] ?? .max
  }

  /// Keeps the offset of the first part of an incomplete changeset.
  private func noteParts(of feed: ByteText, _ outcome: ReplicaOutcome?, _ offset: Int64) {
    if case .waitingForParts(1, _)? = outcome {
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
    let earlier = parts.removeValue(forKey: feed) ?? []
    guard keepsChanges, let value else { return .changedUnseen(feed, change.mode) }
    // Parts of a changeset that was never completed do not belong to this one.
    let values = (value.count == change.byteCount ? [] : earlier) + [Array(value.buffer)]
    let isWhole = values.reduce(0) { $0 + $1.count } == change.byteCount
    guard isWhole, change.mode == .reload || change.difference != nil else {
      return .changedUnseen(feed, change.mode)
    }
    return .changed(
      feed,
      FeedChangeset(change: change, values: values, plan: plan, partition: number, offset: offset)
    )
  }

  /// Records that the partition was read to its end.
  ///
  /// - Parameter lastIdle: a time at which all available records had been read, in milliseconds since 1970.
  /// - Returns: whether this is the first time.
  func noteEnd(at offset: Int64, lastIdle: Int64 = 0) -> Bool {
    position = max(position, offset)
    isAtEnd = true
    asOf = max(asOf, lastIdle)
    defer { isBootstrapped = true }
    return !isBootstrapped
  }

  // MARK: Feeds

  /// All feeds that exist or are stale.
  var feeds: [ByteText] { replicas.knownFeeds }

  /// Why a feed cannot be followed until its next reload; nil if it can.
  func reasonForLoss(of feed: ByteText) -> String? { replicas.staleReason(of: feed) }

  /// The stale feeds without a content.
  var lossesWithoutContent: [FeedUpdate] {
    replicas.staleFeedsWithoutReplica.map {
      .mustRefetch(feed: $0.feed.string, partition: number, reason: $0.reason)
    }
  }

  func hasReplica(of feed: ByteText) -> Bool { replicas.replica(of: feed.string) != nil }

  /// The current content of a feed; nil if there is no such feed.
  func content(of feed: ByteText) -> FeedContent? { replicas.replica(of: feed.string).flatMap(content) }

  /// The feeds, sorted by the bytes of their ids.
  var descriptions: [FeedDescription] { replicas.replicas.compactMap(description) }

  /// The feeds with their contents, sorted by the bytes of their ids.
  var contents: [FeedContent] { replicas.replicas.compactMap(content) }

  private func content(_ replica: Replica) -> FeedContent? {
    description(replica).map { FeedContent(description: $0, snapshot: replica.snapshot()) }
  }

  /// The description of a feed; nil if there is no such feed.
  func description(of feed: ByteText) -> FeedDescription? {
    replicas.replica(of: feed.string).flatMap(description)
  }

  private func description(_ replica: Replica) -> FeedDescription? {
    guard let version = replicas.version(of: replica.feed) else { return nil }
    let feed = ByteText(replica.feed)
    let outdated = reasonForLoss(of: feed)
    return FeedDescription(
      feed: replica.feed,
      partition: number,
      position: position,
      version: version,
      timeMilliseconds: replica.timeMilliseconds,
      sectionCount: replica.sectionCount,
      itemCount: replica.itemCount,
      checksum: replica.checksum,
      standing: outdated == nil ? standing : .mustRefetch,
      outdated: outdated,
      lastChangeset: lastChangesets[feed]
    )
  }

  // MARK: Sharing

  var progress: PartitionProgress {
    PartitionProgress(
      number: number,
      position: position,
      standing: standing,
      stateBytes: replicas.stateBytes,
      records: records,
      recordBytes: recordBytes,
      damage: damage
    )
  }

  /// The feeds as they are now, for another thread that continues from them.
  ///
  /// - Parameter locked: calls its argument under the board's lock.
  /// - Returns: nil if that is not the whole content of the partition up to its position, as a store needs it.
  func share(locked: @escaping (() -> Void) -> Void) -> SharedPartition? {
    guard kept == nil, position >= savedPosition, damage == nil else { return nil }
    return SharedPartition(position: position, feeds: replicas.share(isLocked: true, locked: locked))
  }

  // MARK: Saving

  /// The current state, for saving. O(n log n) for n feeds, whatever their size.
  ///
  /// - Parameter lastIdle: a time at which all available records had been read, in milliseconds since 1970.
  func capture(lastIdle: Int64) -> PartitionCapture {
    // While the saved state is being caught up with, a feed in `behind` has been read up to `position` at least.
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
      lost: replicas.staleFeedsWithoutReplica
    )
  }
}
