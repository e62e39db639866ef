/// One feed of a followed partition: its replica, the received parts of a changeset, and its keys.
final class FollowedFeed {
  let id: ByteText
  private let ownedID: OwnedSpan
  /// The last known state of the feed; nil before the first reload and after a deletion.
  @exclusivity(unchecked) var replica: Replica?
  /// Nil if it is not stale.
  @exclusivity(unchecked) var staleness: Staleness? { didSet { replica?.isStale = staleness != nil } }
  /// The incomplete changeset.
  @exclusivity(unchecked) var pending: PendingParts?
  /// Nil if only nulls were read.
  @exclusivity(unchecked) var keys: FeedKeys?
  /// `keys` already includes changesets of its epoch up to this revision, although they may be read again. 0
  /// if nothing was taken over from a store.
  @exclusivity(unchecked) var knownRevision: UInt64 = 0

  init(_ id: ByteSpan) {
    self.id = ByteText(id)
    ownedID = OwnedSpan(id)
  }

  /// The same feed for another thread, which shares only the state and the received parts. O(1) in the size
  /// of the feed, except during a reload in parts, whose state is copied.
  init(sharing other: FollowedFeed) {
    id = ByteText(other.bytes)
    ownedID = OwnedSpan(other.bytes)
    replica = other.replica.map { [id] in Replica(sharing: $0, feed: id.string) }
    staleness = other.staleness
    pending = other.pending?.copy()
    keys = other.keys?.copy()
    knownRevision = other.knownRevision
  }

  /// The bytes of the id; valid as long as the feed.
  var bytes: ByteSpan { ownedID.span }

  /// Whether `keys` already includes a record of its epoch.
  func knowsKeys(of record: DecodedChangeset) -> Bool {
    guard record.revision <= knownRevision, let replica else { return false }
    return replica.isOfEpoch(record)
  }

  /// The feed's share of its partition's sum: ``stateBytes`` after the last record.
  @exclusivity(unchecked) var countedBytes = 0

  /// The feed's bytes for a limit on state.
  var stateBytes: Int {
    (replica.map { StateSize.feed + $0.state.measure.bytes } ?? 0) + (pending?.heldBytes ?? 0)
  }

  /// The missing data, in words, without which a store cannot continue from the feed; nil if it is complete.
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

/// The received parts of one changeset.
struct PendingParts {
  private(set) var epoch: [UInt8]
  let revision: UInt64
  let mode: ChangesetMode
  private var reason: [UInt8]
  private let checksum: UInt32
  let parts: Int
  private(set) var received = 0
  private(set) var byteCount = 0
  /// The values of a difference's parts, which are applied together.
  var values: [OwnedSpan] = []
  /// The received part of a reload.
  private(set) var state: FeedState?
  /// A fault of its entries, which is reported after all parts were received.
  private(set) var fault: ReplicaFault?

  init(_ record: DecodedChangeset) {
    epoch = Array(record.epoch.buffer)
    revision = record.revision
    mode = record.mode
    reason = Array(record.reasonText.buffer)
    checksum = record.checksum
    parts = record.parts
    if mode == .reload { state = FeedState() }
  }

  var isComplete: Bool { received == parts }

  /// Adds the next part.
  mutating func append(_ record: DecodedChangeset, byteCount size: Int) {
    received += 1
    byteCount += size
    guard let state, fault == nil else { return }
    do throws(ReplicaFault) {
      try state.append(reload: record)
    } catch {
      fault = error
    }
  }

  /// A copy for another thread, which shares the parts' bytes. O(n) for a reload with n received elements.
  func copy() -> PendingParts {
    var copy = self
    copy.epoch = epoch.copy()
    copy.reason = reason.copy()
    copy.state = state?.copyOfCurrent()
    return copy
  }

  /// The bytes for a limit on state.
  var heldBytes: Int { state?.measure.bytes ?? byteCount }

  func continues(with record: DecodedChangeset) -> Bool {
    record.revision == revision && record.mode == mode && record.parts == parts && record.checksum == checksum
      && record.part == received && epoch.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.epoch) }
      && reason.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.reasonText) }
  }
}

/// Why a feed does not have the newest state (protocol, section 11.2).
package enum Staleness: Sendable, Equatable {
  case gap(revision: UInt64?, base: UInt64)
  case otherEpoch
  case missingParts(revision: UInt64, before: Int)
  /// A record is malformed, or does not apply.
  case fault(ReplicaFault)

  /// The reason in words.
  package var text: String {
    switch self {
    case .gap(let revision?, let base):
      "the replica has revision \(revision), and the changeset has base \(base)"
    case .gap(nil, let base): "a changeset with base \(base) arrived without a reload before it"
    case .otherEpoch: "a changeset of another epoch arrived without a reload before it"
    case .missingParts(let revision, let part):
      "part \(part) of revision \(revision) arrived without the parts before it"
    case .fault(let fault): fault.message
    }
  }
}

/// The effect of a record on a feed.
enum ReplicaDecision {
  /// The feed was deleted.
  case remove
  case ignore
  case take
  /// The state is wrong; the record replaces it.
  case replace(ReplicaFault)
  case becomeStale(Staleness)
}

extension FollowedFeed {
  /// The table of the protocol, section 11.3, for a record with a value. Both restoring and following use it.
  func decision(on record: DecodedChangeset) -> ReplicaDecision {
    let isSame = replica?.isOfEpoch(record)
    switch record.mode {
    case .delete: return isSame == false ? .becomeStale(.otherEpoch) : .remove
    case .reload:
      guard let replica, isSame == true else { return .take }
      if record.revision < replica.revision { return .ignore }
      if record.revision > replica.revision || staleness != nil { return .take }
      // A keyframe does not change a correct replica; it reveals an incorrect one.
      return record.checksum == replica.checksum
        ? .ignore : .replace(Replica.mismatch(of: replica.checksum, record))
    case .diff, .reconfigure:
      guard let replica, isSame == true else {
        return .becomeStale(isSame == nil ? .gap(revision: nil, base: record.base) : .otherEpoch)
      }
      if record.revision <= replica.revision { return .ignore }
      let fits = staleness == nil && record.base == replica.revision
      return fits ? .take : .becomeStale(.gap(revision: replica.revision, base: record.base))
    }
  }

  /// The same table for a null. Only a deletion nulls deltas: records of an absent feed belong to it.
  func decision(onNull key: RecordKey) -> ReplicaDecision {
    switch key.kind {
    case .reload: key.number == 0 ? .remove : .ignore
    case .delta: replica == nil ? .remove : .ignore
    }
  }
}

/// The feeds of a ``ReplicaPartition`` at one moment, for one that continues from them on another thread.
///
/// Both sides read the same states; the side that changes a feed first copies it. One of the two sides changes feeds under a
/// lock. The other side keeps this value for as long as it may read a shared state: the references to the states are released
/// under that lock, so no state is changed in place while the other side still reads it.
///
/// Unchecked: it changes only when one thread takes the feeds, and when no thread refers to it.
package final class SharedFeeds: @unchecked Sendable {
  /// Copies of everything except the states, until ``take()``.
  private var feeds: [FollowedFeed]
  private var states: [SnapshotStorage]
  /// Parts of incomplete changesets, which both sides use.
  private var parts: [OwnedSpan]
  private let locked: (() -> Void) -> Void

  /// - Parameter locked: calls its argument under the lock.
  init(_ followed: some Sequence<FollowedFeed>, locked: @escaping (() -> Void) -> Void) {
    feeds = followed.map(FollowedFeed.init(sharing:))
    states = feeds.compactMap { $0.replica?.sharedStorage }
    parts = feeds.flatMap { $0.pending?.values ?? [] }
    self.locked = locked
  }

  deinit {
    feeds = []
    locked {
      states = []
      parts = []
    }
  }

  /// Returns the feeds, once.
  func take() -> [FollowedFeed] {
    defer { feeds = [] }
    return feeds
  }
}
