/// The replicas of one partition of the changesets topic, fed record by record in offset order.
public final class ReplicaPartition {
  /// By the bytes of the feed's id: as strings, different ids could be equal.
  @exclusivity(unchecked) private var feeds: [BytesKey: FollowedFeed] = [:]
  /// The feeds that ``takeFeeds(most:)`` still has to return.
  private var leaving: [FollowedFeed] = []
  /// Keeps states that another thread shares; nil without any, or if these replicas change under the lock.
  private var loan: SharedFeeds?
  @exclusivity(unchecked) private var indexer: JSONIndexer
  /// For the earlier parts of a changeset, while the other indexer holds the last one; created on demand.
  private lazy var partIndexer = JSONIndexer()
  private let arena = ScratchArena()
  /// The bytes of the replicas' state, by the formula of ``StateSize``, with received parts of changesets.
  @exclusivity(unchecked) public private(set) var stateBytes = 0

  /// Whether outcomes describe the change; this copies every entry.
  public var describesChanges: Bool
  /// The open windows of the next record's feed.
  package var windows: OpenWindows?

  /// - Parameters:
  ///   - describesChanges: whether a ``ReplicaChange`` has its `difference`.
  ///   - indexer: may be used elsewhere between two records, on the same thread: its memory is as large as
  ///     the largest value.
  public init(describesChanges: Bool = true, indexer: JSONIndexer = JSONIndexer()) {
    self.describesChanges = describesChanges
    self.indexer = indexer
  }

  /// Continues from the published state of feeds that a store has given up, and takes it over.
  ///
  /// Records that the state includes may be applied again, from any offset, if all later ones are, too.
  ///
  /// - Parameter directory: must not be used afterwards.
  public convenience init(continuing directory: FeedDirectory, indexer: JSONIndexer = JSONIndexer()) {
    self.init(describesChanges: false, indexer: indexer)
    for feed in directory.feeds {
      // The store and its thread keep the pool.
      feed.state.blocks = nil
      feed.state.references = nil
      feed.state.ends = nil
      guard feed.exists, let version = feed.version else { continue }
      let followed = followed(feed.id)
      followed.replica = Replica(continuing: feed, version)
      followed.keys = FeedKeys(version)
      followed.knownRevision = version.revision
      recount(followed)
    }
  }

  /// Continues from the feeds of another partition of replicas.
  ///
  /// - Parameter isLocked: whether these replicas are changed under the lock of ``SharedFeeds``. If not, each
  ///   feed is copied before it is changed or returned.
  package convenience init(sharing shared: SharedFeeds, isLocked: Bool) {
    self.init(describesChanges: false)
    for feed in shared.take() {
      feeds[BytesKey(feed.bytes)] = feed
      recount(feed)
    }
    if !isLocked { loan = shared }
  }

  deinit {
    // Released before the loan.
    feeds = [:]
    leaving = []
  }

  /// The current feeds, for another thread. O(n) for n feeds of any size.
  ///
  /// - Parameters:
  ///   - isLocked: whether these replicas are changed under the lock. True for exactly one of the two sides.
  ///   - locked: calls its argument under that lock.
  package func share(isLocked: Bool, locked: @escaping (() -> Void) -> Void) -> SharedFeeds {
    let shared = SharedFeeds(feeds.values, locked: locked)
    if !isLocked { loan = shared }
    return shared
  }

  /// Uses the indexer of another thread from now on.
  public func use(_ indexer: JSONIndexer) { self.indexer = indexer }

  /// The existing replicas, sorted by the bytes of their feeds' ids.
  public var replicas: [Replica] { sortedFeeds.compactMap(\.replica) }

  private var sortedFeeds: [FollowedFeed] { feeds.values.sorted { $0.bytes.precedes($1.bytes) } }

  /// The replica of a feed.
  public func replica(of feed: String) -> Replica? {
    ByteText(feed).withBytes { feeds[BytesKey($0)]?.replica }
  }

  /// The version of a feed and its keys, from its records; nil without a replica or known keys.
  public func version(of feed: String) -> PublishedVersion? {
    ByteText(feed).withBytes { id in
      guard let feed = feeds[BytesKey(id)], let replica = feed.replica else { return nil }
      // A replica that waits for the reload of another epoch has no keys any more.
      guard let keys = feed.keys, keys.epoch == replica.epoch else {
        return PublishedVersion(epoch: replica.epoch, revision: replica.revision, through: replica.through)
      }
      return keys.version(of: replica)
    }
  }

  /// Returns feeds from which a store can continue, in no particular order, and removes them. No record may be applied
  /// after the first call.
  ///
  /// - Parameter most: the maximum number of feeds, because many may take long. A feed that must be copied
  ///   counts one more for each five items.
  /// - Throws: a ``ReplicaFault`` with the feed whose records leave it without a complete state: deltas
  ///   without their reload, a gap, or a changeset that lacks parts. In that case nothing was removed or
  ///   returned.
  public func takeFeeds(most: Int = .max) throws(ReplicaFault) -> [PublishedFeed] {
    if leaving.isEmpty {
      let incomplete = feeds.values.filter { $0.lack != nil }
      if let feed = incomplete.min(by: { $0.bytes.precedes($1.bytes) }), let lack = feed.lack {
        let name = feed.id.string.debugDescription
        throw ReplicaFault(.incomplete, "feed \(name) \(lack)", feed: feed.id.string)
      }
      leaving = feeds.values.filter { $0.replica != nil }
      feeds = [:]
    }
    var taken: [PublishedFeed] = []
    var cost = 0
    while cost < most, let feed = leaving.popLast() {
      guard let replica = feed.replica, let keys = feed.keys else {
        preconditionFailure("a replica of which no record was read")
      }
      cost += 1 + (loan == nil ? 0 : replica.itemCount / Self.copiedItemsPerFeed)
      taken.append(PublishedFeed(replica, version: keys.version(of: replica)))
    }
    if leaving.isEmpty { loan = nil }
    return taken
  }

  /// Whether ``takeFeeds(most:)`` has not returned all feeds yet.
  public var hasFeedsLeft: Bool { !leaving.isEmpty }

  /// Copying this many items takes about as long as taking over a feed that is not copied.
  private static let copiedItemsPerFeed = 5

  // MARK: Staleness

  /// Whether the last record made a feed stale.
  package private(set) var hasBecomeStale = false

  /// Why a feed is stale; nil if it is not.
  package func staleReason(of feed: ByteText) -> String? {
    feed.withBytes { feeds[BytesKey($0)]?.staleness?.text }
  }

  /// The feeds that have a replica or are stale, sorted by the bytes of their ids.
  package var knownFeeds: [ByteText] {
    sortedFeeds.lazy.filter { $0.replica != nil || $0.staleness != nil }.map(\.id)
  }

  package var staleFeedsWithoutReplica: [(feed: ByteText, reason: String)] {
    sortedFeeds.compactMap { feed in
      feed.replica == nil ? feed.staleness.map { (feed.id, $0.text) } : nil
    }
  }

  /// The missing data, in words, without which a feed's state is not the newest; nil if none is missing.
  package func lack(of feed: ByteText) -> String? {
    feed.withBytes { feeds[BytesKey($0)]?.lack }
  }

  // MARK: Records

  /// Applies a record.
  ///
  /// - Parameters:
  ///   - key: the record's key.
  ///   - value: the changeset, or nil for a Kafka null.
  /// - Throws: a ``ReplicaFault`` for a record that does not belong to a changesets topic. If its key names a
  ///   feed, the feed is then stale.
  public func apply(key: ByteSpan, value: ByteSpan?) throws(ReplicaFault) -> ReplicaOutcome {
    hasBecomeStale = false
    guard let recordKey = RecordKey(key) else {
      throw ReplicaFault(
        .invalidKey,
        "the key \(key.quotedForMessage()) is neither \(RecordKey.form)"
      )
    }
    guard let value else { return applyNull(recordKey) }
    arena.reset()
    let record: DecodedChangeset
    do throws(ReplicaFault) {
      record = try decode(value, under: recordKey)
    } catch {
      recordMalformed(recordKey.feed, error)
      throw error
    }
    let feed = followed(recordKey.feed)
    defer { recount(feed) }
    if feed.keys?.isOfEpoch(record) != true { feed.keys = FeedKeys(epoch: record.epoch) }
    if !feed.knowsKeys(of: record) { feed.keys?.record(recordKey, record, byteCount: value.count) }
    switch feed.decision(on: record) {
    case .ignore: return .skipped
    case .remove:
      let epoch = Array(record.epoch.buffer)
      return remove(feed, change(record, of: feed.id.string, epoch: epoch, byteCount: value.count))
    case .becomeStale(let staleness): return becomeStale(feed, staleness)
    case .replace(let fault):
      becomeStale(feed, .fault(fault))
      return takeReload(record, feed, value)
    case .take:
      return record.mode == .reload ? takeReload(record, feed, value) : takeDelta(record, feed, value)
    }
  }

  private func followed(_ id: ByteSpan) -> FollowedFeed {
    if let known = feeds[BytesKey(id)] { return known }
    let feed = FollowedFeed(id)
    feeds[BytesKey(feed.bytes)] = feed
    return feed
  }

  /// The changeset in a value, which must belong to the key's feed.
  private func decode(_ value: ByteSpan, under key: RecordKey) throws(ReplicaFault) -> DecodedChangeset {
    let record = try DecodedChangeset(value, indexer, arena: arena)
    guard record.feed.hasSameBytes(as: key.feed) else {
      throw ReplicaFault(
        "the key names feed \(key.feed.quotedForMessage()), the value \(record.feed.quotedForMessage())"
      )
    }
    guard key.kind == (record.mode == .reload ? .reload : .delta),
      key.kind == .delta || key.number == record.part
    else {
      throw ReplicaFault(
        "the key is that of \(key.kind == .reload ? "part \(key.number) of a reload" : "a delta"), the value is "
          + "part \(record.part) of mode \(record.mode.rawValue)"
      )
    }
    return record
  }

  /// Makes the feed of a malformed record stale, unless its id is not UTF-8: then it does not exist.
  private func recordMalformed(_ id: ByteSpan, _ fault: ReplicaFault) {
    guard ByteText(id).withBytes({ $0.hasSameBytes(as: id) }) else { return }
    let feed = followed(id)
    becomeStale(feed, .fault(fault))
    recount(feed)
  }

  /// Records that changes of a feed were missed. The first reason applies until the next reload.
  @discardableResult
  private func becomeStale(_ feed: FollowedFeed, _ staleness: Staleness) -> ReplicaOutcome {
    if feed.staleness == nil {
      feed.staleness = staleness
      hasBecomeStale = true
    }
    feed.pending = nil
    switch staleness {
    case .gap(let revision, let base): return .gap(replica: revision, base: base)
    case .missingParts: return .gap(replica: feed.replica?.revision, base: feed.replica?.revision ?? 0)
    case .otherEpoch: return .otherEpoch
    case .fault(let fault): return .mismatch(fault)
    }
  }

  /// Adds the change of a feed's size to the sum.
  @inline(__always)
  private func recount(_ feed: FollowedFeed) {
    let bytes = feed.stateBytes
    stateBytes += bytes - feed.countedBytes
    feed.countedBytes = bytes
  }

  // MARK: Removal

  private func applyNull(_ key: RecordKey) -> ReplicaOutcome {
    guard let feed = feeds[BytesKey(key.feed)], case .remove = feed.decision(onNull: key) else {
      return .skipped
    }
    return remove(feed)
  }

  /// Forgets a feed and its records.
  ///
  /// - Parameter change: its deletion; nil for a null.
  private func remove(_ feed: FollowedFeed, _ change: ReplicaChange? = nil) -> ReplicaOutcome {
    let wasKnown = feed.replica != nil || feed.staleness != nil
    feed.pending = nil
    feed.replica = nil
    feed.staleness = nil
    feed.keys = nil
    recount(feed)
    feeds[BytesKey(feed.bytes)] = nil
    return wasKnown ? .removed(feed: feed.id.string, change) : .skipped
  }

  // MARK: Parts

  private func takeReload(
    _ record: DecodedChangeset,
    _ feed: FollowedFeed,
    _ value: ByteSpan
  ) -> ReplicaOutcome {
    guard let parts = nextParts(record, feed, value) else { return missParts(record, feed) }
    guard parts.isComplete else {
      feed.pending = parts
      return .waitingForParts(received: parts.received, of: parts.parts)
    }
    guard let state = parts.state else { preconditionFailure("a reload without a state") }
    let isRight = state.totals.checksum == record.checksum
    if let fault = parts.fault ?? (isRight ? nil : Replica.mismatch(of: state.totals.checksum, record)) {
      return becomeStale(feed, .fault(fault))
    }
    let replica: Replica
    if let known = feed.replica {
      replica = known
      replica.replace(with: state, record)
    } else {
      replica = Replica(feed: feed.id.string, state: state, record)
      feed.replica = replica
    }
    feed.staleness = nil
    windows?.begin(at: record.revision)
    return .applied(
      change(record, of: replica.feed, epoch: replica.epoch, byteCount: parts.byteCount)
    )
  }

  private func takeDelta(
    _ record: DecodedChangeset,
    _ feed: FollowedFeed,
    _ value: ByteSpan
  ) -> ReplicaOutcome {
    guard let replica = feed.replica else { preconditionFailure("a difference without a base") }
    if record.parts == 1 {
      feed.pending = nil
      return apply([], record, replica, feed, byteCount: value.count)
    }
    guard let parts = nextParts(record, feed, value) else { return missParts(record, feed) }
    guard parts.isComplete else {
      feed.pending = parts
      feed.pending?.values.append(OwnedSpan(value))
      return .waitingForParts(received: parts.received, of: parts.parts)
    }
    return apply(parts.values, record, replica, feed, byteCount: parts.byteCount)
  }

  /// The pending parts with the record as the next one; nil if the first parts were missed.
  private func nextParts(_ record: DecodedChangeset, _ feed: FollowedFeed, _ value: ByteSpan) -> PendingParts?
  {
    var parts = feed.pending.take()
    if parts?.continues(with: record) != true { parts = record.part == 0 ? PendingParts(record) : nil }
    parts?.append(record, byteCount: value.count)
    return parts
  }

  private func missParts(_ record: DecodedChangeset, _ feed: FollowedFeed) -> ReplicaOutcome {
    becomeStale(feed, .missingParts(revision: record.revision, before: record.part))
  }

  /// Joins the lists of all parts and applies them together.
  private func apply(
    _ earlier: [OwnedSpan],
    _ last: DecodedChangeset,
    _ replica: Replica,
    _ feed: FollowedFeed,
    byteCount: Int
  ) -> ReplicaOutcome {
    var entries = DecodedEntries()
    do throws(ReplicaFault) {
      // The lists point to the parts' bytes; the next part may reuse the index.
      for part in earlier { try entries.append(DecodedChangeset(part.span, partIndexer, arena: arena)) }
      try entries.append(last)
      try replica.apply(entries, last, windows)
    } catch {
      return becomeStale(feed, .fault(error))
    }
    return .applied(change(last, of: replica.feed, epoch: replica.epoch, byteCount: byteCount, entries))
  }

  /// - Parameter entries: the entries of a difference.
  private func change(
    _ record: DecodedChangeset,
    of feed: String,
    epoch: [UInt8],
    byteCount: Int,
    _ entries: DecodedEntries? = nil
  ) -> ReplicaChange {
    let milliseconds = TimestampFormat.milliseconds(record.time)
    return ReplicaChange(
      feed: feed,
      epochBytes: epoch,
      revision: record.revision,
      base: record.base,
      mode: record.mode,
      reason: record.reason,
      timeMilliseconds: milliseconds ?? 0,
      foreignTime: milliseconds == nil ? record.time.text : nil,
      counts: entries.map { PublicationOutcome.EntryCounts($0.sections, $0.items) } ?? .init(),
      difference: describesChanges ? entries.map { SnapshotDifference($0) } : nil,
      byteCount: byteCount
    )
  }
}
