/// What is known of one feed of a partition that is followed: its replica, the parts of a changeset that have
/// arrived, and what its keys hold.
final class FollowedFeed {
  let id: ByteText
  private let ownedID: OwnedSpan
  /// The feed as it was last known; nil before the first reload and after a deletion.
  @exclusivity(unchecked) var replica: Replica?
  /// Nil if it is not stale.
  @exclusivity(unchecked) var staleness: Staleness? { didSet { replica?.isStale = staleness != nil } }
  /// The changeset of which parts are missing.
  @exclusivity(unchecked) var pending: PendingParts?
  /// Nil if all that was read is nulls.
  @exclusivity(unchecked) var keys: FeedKeys?
  /// What was published of the epoch of `keys` up to this revision counts in them already, although it may be read once more.
  /// 0 if nothing was taken over from a store.
  @exclusivity(unchecked) var knownRevision: UInt64 = 0

  init(_ id: ByteSpan) {
    self.id = ByteText(id)
    ownedID = OwnedSpan(id)
  }

  /// The same feed for another thread: only the state and the parts that have arrived are shared. O(1) in the size of the feed,
  /// except while it is reading a reload in parts, of which the state is copied.
  init(sharing other: FollowedFeed) {
    id = ByteText(other.bytes)
    ownedID = OwnedSpan(other.bytes)
    replica = other.replica.map { [id] in Replica(sharing: $0, feed: id.string) }
    staleness = other.staleness
    pending = other.pending?.copy()
    keys = other.keys?.copy()
    knownRevision = other.knownRevision
  }

  /// The bytes of the id; they live as long as this.
  var bytes: ByteSpan { ownedID.span }

  /// Whether a record, of the epoch of `keys`, counts in them already.
  func knowsKeys(of record: DecodedChangeset) -> Bool {
    guard record.revision <= knownRevision, let replica else { return false }
    return replica.isOfEpoch(record)
  }

  /// What its partition's sum contains of it: ``stateBytes`` after the last record.
  @exclusivity(unchecked) var countedBytes = 0

  /// What it counts as for a bound on state.
  var stateBytes: Int {
    (replica.map { StateSize.feed + $0.state.measure.bytes } ?? 0) + (pending?.heldBytes ?? 0)
  }

  /// What it lacks to be gone on from, in words; nil if it is complete.
  var lack: String? {
    guard let keys else { return nil }
    if let pending {
      return "has \(pending.received) of the \(pending.parts) parts of revision \(pending.revision)"
    }
    guard let replica else { return "has changes without a reload that they start from" }
    if staleness != nil { return "lacks the changes after revision \(replica.revision)" }
    guard keys.epoch == replica.epoch else {
      return "was re-created, but its first reload is missing"
    }
    return nil
  }
}
