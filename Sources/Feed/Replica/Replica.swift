/// A copy of one feed, kept by applying its changesets under the rules of the protocol, section 11.
public final class Replica {
  /// The feed's id.
  public let feed: String
  /// The epoch of the replica's state.
  @exclusivity(unchecked) public private(set) var epoch: [UInt8]
  /// The revision of the replica's state.
  @exclusivity(unchecked) public private(set) var revision: UInt64
  /// For each input topic, the newest record in the state.
  @exclusivity(unchecked) public private(set) var through: [TopicOffset] = []
  /// Whether deltas were missed, so that nothing can be applied until the next reload.
  @exclusivity(unchecked) public internal(set) var isStale = false
  /// The greatest timestamp of the records in the state's changeset, in milliseconds since 1970.
  @exclusivity(unchecked) public private(set) var timeMilliseconds: Int64
  /// Shared with snapshots until the next changeset.
  @exclusivity(unchecked) private var storage: SnapshotStorage

  /// A replica from a complete reload.
  package init(feed: String, state: FeedState, _ record: DecodedChangeset) {
    self.feed = feed
    storage = SnapshotStorage(state)
    epoch = Array(record.epoch.buffer)
    revision = record.revision
    timeMilliseconds = TimestampFormat.milliseconds(record.time) ?? 0
    record.takeThrough(to: &through)
    state.confirm()
  }

  /// A replica of the published state of a feed that a store has given up. Its time is unknown.
  init(continuing feed: PublishedFeed, _ version: PublishedVersion) {
    self.feed = feed.id.text
    storage = SnapshotStorage(feed.state)
    epoch = version.epoch
    revision = version.revision
    through = version.through
    timeMilliseconds = 0
  }

  /// A replica of the same feed that shares the state; the first to change copies it.
  init(sharing other: Replica, feed: String) {
    self.feed = feed
    storage = other.storage
    epoch = other.epoch.copy()
    revision = other.revision
    through = other.through.map { TopicOffset(topic: $0.topic.copy(), offset: $0.offset) }
    isStale = other.isStale
    timeMilliseconds = other.timeMilliseconds
  }

  /// The state, to keep it unchanged.
  var sharedStorage: SnapshotStorage { storage }

  /// The state, for reading.
  package var state: FeedState { storage.state }

  /// The state, for editing: a copy if a snapshot holds it. O(n) then. An edit ends with `confirm`.
  func ownState() -> FeedState {
    if !isKnownUniquelyReferenced(&storage) { storage = storage.copy() }
    return storage.state
  }

  /// The content of the replica's revision. O(1). The first changeset that arrives while the snapshot is held copies
  /// the content, in O(n); later ones do not.
  public func snapshot() -> Snapshot { Snapshot(sharing: storage) }

  public var itemCount: Int { state.totals.itemCount }
  public var sectionCount: Int { state.sectionCount }
  /// The checksum of the replica's state.
  public var checksum: UInt32 { state.totals.checksum }

  /// Whether a record belongs to the replica's epoch.
  package func isOfEpoch(_ record: DecodedChangeset) -> Bool {
    epoch.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.epoch) }
  }

  /// Replaces the replica's state by a complete reload of any epoch.
  package func replace(with state: FeedState, _ record: DecodedChangeset) {
    state.confirm()
    storage = SnapshotStorage(state)
    epoch = Array(record.epoch.buffer)
    revision = record.revision
    timeMilliseconds = TimestampFormat.milliseconds(record.time) ?? 0
    record.takeThrough(to: &through)
  }

  /// Applies a complete difference whose base is the replica's revision.
  ///
  /// - Parameter windows: record the changes in them.
  /// - Throws: the mismatch; the replica is then unchanged.
  package func apply(
    _ entries: DecodedEntries,
    _ record: DecodedChangeset,
    _ windows: OpenWindows? = nil
  ) throws(ReplicaFault) {
    let state = ownState()
    do throws(ReplicaFault) {
      try state.apply(entries, forcing: windows != nil)
      guard state.totals.checksum == record.checksum else {
        throw Replica.mismatch(of: state.totals.checksum, record)
      }
    } catch {
      state.rollBack()
      throw error
    }
    revision = record.revision
    timeMilliseconds = TimestampFormat.milliseconds(record.time) ?? 0
    record.takeThrough(to: &through)
    windows?.take(state, ChangesetHead(record, time: timeMilliseconds, through: through))
    storage.state.confirm()
  }

  /// The member `window` of a window's content: JSON text.
  package func totals(of window: FeedWindow) -> [UInt8] {
    let output = ByteWriter()
    state.writeTotals(of: window, to: output)
    return Array(output.written.buffer)
  }

  static func mismatch(of checksum: UInt32, _ record: DecodedChangeset) -> ReplicaFault {
    ReplicaFault(
      .checksum,
      "feed \(record.feed.quotedForMessage()) revision \(record.revision): the checksum is "
        + "\(hexadecimal(checksum)), expected \(hexadecimal(record.checksum))"
    )
  }

  /// A checksum in its spelling in changesets: eight lower-case hexadecimal digits.
  package static func hexadecimal(_ value: UInt32) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// The effect of a record of the changesets topic on a replica.
public enum ReplicaOutcome: Sendable, Equatable {
  /// The replica is now at the changeset's revision.
  case applied(ReplicaChange)
  /// The feed was deleted and its replica dropped, by a changeset or by a null.
  case removed(feed: String, ReplicaChange?)
  /// The replica already has the revision, or the record is a null without effect.
  case skipped
  /// More parts of the same changeset are needed.
  case waitingForParts(received: Int, of: Int)
  /// The delta's base is not the replica's revision; nothing can be applied until the next reload.
  case gap(replica: UInt64?, base: UInt64)
  /// The delta belongs to another epoch; nothing can be applied until that epoch's reload.
  case otherEpoch
  /// The changeset does not apply to the replica: a fault of the topic or of the replica. The replica keeps
  /// its last valid state; nothing can be applied until the next reload.
  case mismatch(ReplicaFault)
}

/// The change that a replica applied from one changeset.
public struct ReplicaChange: Sendable, Equatable {
  public let feed: String
  /// Shared with the replica. Texts are created on demand: restoring reads none.
  let epochBytes: [UInt8]
  public let revision: UInt64
  public let base: UInt64
  public let mode: ChangesetMode
  /// The reason for a reload; nil for other modes, and for unknown reasons.
  public let reason: ReloadReason?
  let timeMilliseconds: Int64
  /// The time's spelling, if it is not this package's.
  let foreignTime: String?
  /// The entries of a difference by kind; none for a reload.
  public let counts: PublicationOutcome.EntryCounts
  /// The changes; nil for a reload, which replaces everything, and if they were not requested.
  public let difference: SnapshotDifference?
  /// Bytes of the changeset's values in all parts.
  public let byteCount: Int

  public var epoch: String { String(decoding: epochBytes, as: UTF8.self) }

  /// The time as RFC 3339 text.
  public var time: String {
    if let foreignTime { return foreignTime }
    let output = ByteWriter(capacity: TimestampFormat.byteCount)
    TimestampFormat.append(timeMilliseconds, to: output)
    return output.written.text
  }
}

/// Why a record could not be applied.
public struct ReplicaFault: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// The record's key does not have the form of the changesets topic.
    case invalidKey = "invalid-key"
    /// The value is not a changeset.
    case invalidChangeset = "invalid-changeset"
    /// An entry names a missing element, or inserts an existing one.
    case unknownElement = "unknown-element"
    /// An element is not at the changeset's position.
    case position
    /// The result's checksum differs from the changeset's.
    case checksum
    /// Records of the feed are missing, so its state is unknown.
    case incomplete
  }

  public let code: Code
  /// The feed, the revision and the entry, with the expected and the found value.
  public let message: String
  /// The feed of an ``Code/incomplete`` fault.
  public let feed: String?

  package init(_ code: Code, _ message: String, feed: String? = nil) {
    self.code = code
    self.message = message
    self.feed = feed
  }

  /// A fault of the changeset itself.
  package init(_ message: String) { self.init(.invalidChangeset, message) }

  public var description: String { message }
}
