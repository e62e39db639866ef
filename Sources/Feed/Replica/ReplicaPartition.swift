/// The replicas of one partition of the changesets topic, fed record by record in offset order.
public final class ReplicaPartition {
  private var replicasByFeed: [String: Replica] = [:]
  private var pending: [String: PendingParts] = [:]
  private let indexer = JSONIndexer()
  private let arena = ScratchArena()

  public init() {}

  /// The replicas that exist now, sorted by the bytes of their feeds' ids.
  public var replicas: [Replica] {
    replicasByFeed.values.sorted { $0.feed.utf8.lexicographicallyPrecedes($1.feed.utf8) }
  }

  /// The replica of a feed.
  public func replica(of feed: String) -> Replica? { replicasByFeed[feed] }

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
    let feed = recordKey.feed.text
    guard let value else { return applyNull(recordKey, feed) }
    arena.reset()
    let record = try decode(value)
    guard record.feed.hasSameBytes(as: recordKey.feed) else {
      throw ReplicaFault(
        .invalidChangeset,
        "the key names feed \(recordKey.feed.quotedForMessage()), the value \(record.feed.quotedForMessage())"
      )
    }
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
  private func applyNull(_ key: RecordKey, _ feed: String) -> ReplicaOutcome {
    guard key.kind == .reload, key.number == 0 else { return .skipped }
    pending[feed] = nil
    guard replicasByFeed.removeValue(forKey: feed) != nil else { return .skipped }
    return .removed(feed: feed)
  }

  private func applyDelete(_ record: DecodedChangeset, _ feed: String) -> ReplicaOutcome {
    guard let replica = replicasByFeed[feed], replica.isOfEpoch(record) else { return .skipped }
    replicasByFeed[feed] = nil
    pending[feed] = nil
    return .removed(feed: feed)
  }

  // MARK: Reloads

  private func applyReload(
    _ record: DecodedChangeset,
    _ feed: String,
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
      replicasByFeed[feed] = Replica(feed: feed, state: state, record)
    }
    return .applied(change(record, feed, byteCount: parts.byteCount, counts: .init()))
  }

  /// The parts that a record belongs to, taken out of the pending ones; nil where it is a later part
  /// of a changeset whose first parts were missed.
  private func nextParts(_ record: DecodedChangeset, _ feed: String) -> PendingParts? {
    if let parts = pending.removeValue(forKey: feed), parts.continues(with: record) { return parts }
    return record.part == 0 ? PendingParts(record) : nil
  }

  // MARK: Differences

  private func applyDelta(
    _ record: DecodedChangeset,
    _ feed: String,
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
    do {
      let counts = try join(parts.values, record, replica)
      return .applied(change(record, feed, byteCount: parts.byteCount, counts: counts))
    } catch {
      return .mismatch(error)
    }
  }

  /// Joins the lists of all parts and applies them together.
  private func join(
    _ earlier: [[UInt8]],
    _ last: DecodedChangeset,
    _ replica: Replica
  ) throws(ReplicaFault) -> PublicationOutcome.EntryCounts {
    var entries = DecodedEntries()
    // Each text's index lives in its indexer, and its bytes must stay in place.
    var indexers: [JSONIndexer] = []
    let blocks = earlier.map { value -> UnsafeMutableRawBufferPointer in
      let block = UnsafeMutableRawBufferPointer.allocate(byteCount: value.count, alignment: 1)
      block.copyBytes(from: value)
      return block
    }
    defer { for block in blocks { block.deallocate() } }
    for block in blocks {
      let indexer = JSONIndexer()
      indexers.append(indexer)
      do {
        let text = try indexer.index(ByteSpan(UnsafeRawBufferPointer(block)))
        try entries.append(DecodedChangeset(text, arena: arena))
      } catch let fault as ReplicaFault {
        throw fault
      } catch {
        throw ReplicaFault(.invalidChangeset, "a part is not JSON")
      }
    }
    try entries.append(last)
    try replica.apply(entries, last)
    withExtendedLifetime(indexers) {}
    return ReplicaPartition.counts(entries)
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
    _ feed: String,
    byteCount: Int,
    counts: PublicationOutcome.EntryCounts
  ) -> ReplicaChange {
    ReplicaChange(
      feed: feed,
      epoch: record.epoch.text,
      revision: record.revision,
      base: record.base,
      mode: record.mode,
      reason: record.reason,
      time: record.time.text,
      counts: counts,
      byteCount: byteCount
    )
  }
}
