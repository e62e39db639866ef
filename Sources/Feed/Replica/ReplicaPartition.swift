import Glibc

/// The replicas of one partition of the changesets topic, fed record by record in offset order.
public final class ReplicaPartition {
  // By the bytes of the feed's id: as strings, ids that differ could be equal.
  private var replicasByFeed: [ByteText: Replica] = [:]
  private var pending: [ByteText: PendingParts] = [:]
  private var keys: [ByteText: FeedKeys] = [:]
  private let indexer = JSONIndexer()
  private let arena = ScratchArena()

  /// Whether outcomes tell what changed; costs a copy of every entry.
  private let describesChanges: Bool

  /// - Parameter describesChanges: whether a ``ReplicaChange`` has its `difference`.
  public init(describesChanges: Bool = true) {
    self.describesChanges = describesChanges
  }

  /// The replicas that exist now, sorted by the bytes of their feeds' ids.
  public var replicas: [Replica] {
    replicasByFeed.values.sorted { $0.feed.utf8.lexicographicallyPrecedes($1.feed.utf8) }
  }

  /// The replica of a feed.
  public func replica(of feed: String) -> Replica? { replicasByFeed[ByteText(feed)] }

  /// Hands out every feed as a store goes on with it, and forgets them all.
  ///
  /// - Throws: a ``ReplicaFault`` with the feed if its records leave it without a state that can be gone on
  ///   from: deltas without their reload, a gap, or a changeset that misses parts. Nothing is forgotten then.
  public func takeFeeds() throws(ReplicaFault) -> [PublishedFeed] {
    for feed in keys.keys.sorted(by: { $0.string.utf8.lexicographicallyPrecedes($1.string.utf8) }) {
      if let lack = lack(of: feed) {
        let name = feed.string.debugDescription
        throw ReplicaFault(.incomplete, "feed \(name) \(lack)", feed: feed.string)
      }
    }
    var feeds: [PublishedFeed] = []
    for replica in replicas {
      guard let keys = keys[ByteText(replica.feed)] else {
        preconditionFailure("a replica of which no record was read")
      }
      feeds.append(PublishedFeed(replica, version: keys.version(of: replica)))
    }
    replicasByFeed = [:]
    pending = [:]
    keys = [:]
    return feeds
  }

  /// What a feed of which records were read lacks, in words; nil if it is complete.
  private func lack(of feed: ByteText) -> String? {
    if let parts = pending[feed] {
      return "has \(parts.received) of the \(parts.parts) parts of revision \(parts.revision)"
    }
    guard let replica = replicasByFeed[feed] else { return "has changes, but no reload that they start from" }
    if replica.isStale { return "misses what came after revision \(replica.revision)" }
    guard let keys = keys[feed], keys.epoch == replica.epoch else {
      return "began anew, but the reload that it began with is missing"
    }
    return nil
  }

  /// Takes a record.
  ///
  /// - Parameters:
  ///   - value: the changeset, or nil for a Kafka null.
  /// - Throws: a ``ReplicaFault`` for what is no record of a changesets topic; nothing has changed then.
  public func apply(key: ByteSpan, value: ByteSpan?) throws(ReplicaFault) -> ReplicaOutcome {
    guard let recordKey = RecordKey(key) else {
      throw ReplicaFault(
        .invalidKey,
        "the key \(key.quotedForMessage()) is neither k<part>/<feed> nor d<n>/<feed>"
      )
    }
    let feed = ByteText(recordKey.feed)
    guard let value else { return applyNull(recordKey, feed) }
    arena.reset()
    let record = try decode(value)
    guard record.feed.hasSameBytes(as: recordKey.feed) else {
      throw ReplicaFault(
        .invalidChangeset,
        "the key names feed \(recordKey.feed.quotedForMessage()), the value \(record.feed.quotedForMessage())"
      )
    }
    if keys[feed]?.isOfEpoch(record) != true { keys[feed] = FeedKeys(epoch: record.epoch) }
    keys[feed]?.note(recordKey, record, byteCount: value.count)
    switch record.mode {
    case .delete: return applyDelete(record, feed)
    case .reload: return try applyReload(record, feed, value)
    case .diff, .reconfigure: return try applyDelta(record, feed, value)
    }
  }

  private func decode(_ value: ByteSpan) throws(ReplicaFault) -> DecodedChangeset {
    do {
      let text = try indexer.index(value)
      _ = try text.validate()
      return try DecodedChangeset(text, arena: arena)
    } catch let fault as JSONFault {
      throw ReplicaFault(.invalidChangeset, "the value is not JSON: \(fault.explanation)")
    } catch let fault as ReplicaFault {
      throw fault
    } catch {
      fatalError("unexpected error \(error)")
    }
  }

  // MARK: Removal

  /// A null under the first reload key removes the feed: a reader that slept through the deletion
  /// sees only that.
  private func applyNull(_ key: RecordKey, _ feed: ByteText) -> ReplicaOutcome {
    guard key.kind == .reload, key.number == 0 else {
      // Deltas are nulled by a deletion only: of a feed that is not there, whatever was read belongs to it.
      if key.kind == .delta, replicasByFeed[feed] == nil {
        pending[feed] = nil
        keys[feed] = nil
      }
      return .skipped
    }
    pending[feed] = nil
    keys[feed] = nil
    guard replicasByFeed.removeValue(forKey: feed) != nil else { return .skipped }
    return .removed(feed: feed.string)
  }

  private func applyDelete(_ record: DecodedChangeset, _ feed: ByteText) -> ReplicaOutcome {
    // Nothing but nulls follows; the first of them may be gone.
    pending[feed] = nil
    if replicasByFeed[feed] == nil { keys[feed] = nil }
    guard let replica = replicasByFeed[feed], replica.isOfEpoch(record) else { return .skipped }
    replicasByFeed[feed] = nil
    keys[feed] = nil
    return .removed(feed: feed.string)
  }

  // MARK: Reloads

  private func applyReload(
    _ record: DecodedChangeset,
    _ feed: ByteText,
    _ value: ByteSpan
  ) throws(ReplicaFault) -> ReplicaOutcome {
    if let replica = replicasByFeed[feed], replica.isOfEpoch(record), !replica.isStale {
      if record.revision < replica.revision { return .skipped }
      if record.revision == replica.revision {
        // A keyframe changes nothing for a replica in step; it is a chance to notice that it is not.
        guard record.checksum != replica.checksum else { return .skipped }
        replica.markStale()
      }
    }
    guard var parts = nextParts(record, feed) else { return .skipped }
    guard let state = parts.state else { preconditionFailure("a reload without a state") }
    do {
      try state.append(reload: record)
    } catch {
      replicasByFeed[feed]?.markStale()
      return .mismatch(error)
    }
    parts.received += 1
    parts.byteCount += value.count
    guard parts.received == parts.parts else {
      pending[feed] = parts
      return .waitingForParts(received: parts.received, of: parts.parts)
    }
    guard state.totals.checksum == record.checksum else {
      replicasByFeed[feed]?.markStale()
      return .mismatch(
        ReplicaFault(
          .checksum,
          "feed \(record.feed.quotedForMessage()) revision \(record.revision): the reload's checksum is "
            + "\(Replica.hexadecimal(state.totals.checksum)), expected \(Replica.hexadecimal(record.checksum))"
        )
      )
    }
    if let replica = replicasByFeed[feed] {
      replica.replace(with: state, record)
    } else {
      replicasByFeed[feed] = Replica(feed: feed.string, state: state, record)
    }
    return .applied(
      change(
        record,
        feed,
        byteCount: parts.byteCount,
        counts: PublicationOutcome.EntryCounts(),
        difference: nil
      )
    )
  }

  /// The parts that a record belongs to, taken out of the pending ones; nil where it is a later part
  /// of a changeset whose first parts were missed.
  private func nextParts(_ record: DecodedChangeset, _ feed: ByteText) -> PendingParts? {
    if let parts = pending.removeValue(forKey: feed), parts.continues(with: record) { return parts }
    return record.part == 0 ? PendingParts(record) : nil
  }

  // MARK: Differences

  private func applyDelta(
    _ record: DecodedChangeset,
    _ feed: ByteText,
    _ value: ByteSpan
  ) throws(ReplicaFault) -> ReplicaOutcome {
    guard let replica = replicasByFeed[feed] else { return .gap(replica: nil, base: record.base) }
    guard replica.isOfEpoch(record) else { return .otherEpoch }
    if record.revision <= replica.revision { return .skipped }
    guard !replica.isStale, record.base == replica.revision else {
      replica.markStale()
      return .gap(replica: replica.revision, base: record.base)
    }
    guard var parts = nextParts(record, feed) else {
      replica.markStale()
      return .gap(replica: replica.revision, base: record.base)
    }
    parts.received += 1
    parts.byteCount += value.count
    guard parts.received == parts.parts else {
      parts.values.append(Array(value.buffer))
      pending[feed] = parts
      return .waitingForParts(received: parts.received, of: parts.parts)
    }
    do throws(ReplicaFault) {
      return .applied(try join(parts.values, record, replica, byteCount: parts.byteCount))
    } catch {
      replica.markStale()
      return .mismatch(error)
    }
  }

  /// Joins the lists of all parts and applies them together.
  private func join(
    _ earlier: [[UInt8]],
    _ last: DecodedChangeset,
    _ replica: Replica,
    byteCount: Int
  ) throws(ReplicaFault) -> ReplicaChange {
    var entries = DecodedEntries()
    // Each text's index lives in its indexer, and its bytes must stay in place.
    let parts = earlier.map { (indexer: JSONIndexer(), bytes: ElementTable.copy($0)) }
    defer { for part in parts { free(part.bytes) } }
    for (part, value) in zip(parts, earlier) {
      let text: JSONText
      do throws(JSONFault) {
        text = try part.indexer.index(ByteSpan(part.bytes, value.count))
      } catch {
        throw ReplicaFault(.invalidChangeset, "a part is not JSON: \(error.explanation)")
      }
      try entries.append(DecodedChangeset(text, arena: arena))
    }
    try entries.append(last)
    try replica.apply(entries, last)
    let description = describesChanges ? SnapshotDifference(entries) : nil
    return change(
      last,
      ByteText(last.feed),
      byteCount: byteCount,
      counts: ReplicaPartition.counts(entries),
      difference: description
    )
  }

  private static func counts(_ entries: DecodedEntries) -> PublicationOutcome.EntryCounts {
    var counts = PublicationOutcome.EntryCounts()
    for lists in [entries.sections, entries.items] {
      counts.deletes += lists.deletes.count
      counts.inserts += lists.inserts.count
      counts.moves += lists.moves.count
      counts.reconfigures += lists.reconfigures.count
      counts.reloads += lists.reloads.count
    }
    return counts
  }

  private func change(
    _ record: DecodedChangeset,
    _ feed: ByteText,
    byteCount: Int,
    counts: PublicationOutcome.EntryCounts,
    difference: SnapshotDifference?
  ) -> ReplicaChange {
    ReplicaChange(
      feed: feed.string,
      epoch: record.epoch.text,
      revision: record.revision,
      base: record.base,
      mode: record.mode,
      reason: record.reason,
      time: record.time.text,
      counts: counts,
      difference: difference,
      byteCount: byteCount
    )
  }
}
