/// A copy of one feed, kept by applying its changesets under the rules of the protocol, section 5.
public final class Replica {
  /// The feed's id.
  public let feed: String
  /// The epoch of the state that the replica has.
  public private(set) var epoch: [UInt8]
  /// The revision of the state that the replica has.
  public private(set) var revision: UInt64
  /// For each input topic, the newest record that the state includes.
  public private(set) var through: [TopicOffset]
  /// Whether deltas were missed, so that nothing can be applied until the next reload.
  public private(set) var isStale = false
  private(set) var state: FeedState

  /// A replica from a complete reload.
  init(feed: String, state: FeedState, _ record: DecodedChangeset) {
    self.feed = feed
    self.state = state
    epoch = Array(record.epoch.buffer)
    revision = record.revision
    through = record.through
    state.confirm()
  }

  public var itemCount: Int { state.totals.itemCount }
  public var sectionCount: Int { state.sectionCount }
  /// The checksum of the state that the replica has.
  public var checksum: UInt32 { state.totals.checksum }

  /// Whether a record is of the epoch that the replica has.
  func isOfEpoch(_ record: DecodedChangeset) -> Bool {
    epoch.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.epoch) }
  }

  /// Takes over a complete reload of whatever epoch.
  func replace(with state: FeedState, _ record: DecodedChangeset) {
    state.confirm()
    self.state = state
    epoch = Array(record.epoch.buffer)
    revision = record.revision
    through = record.through
    isStale = false
  }

  /// Notes that a delta was missed.
  func markStale() { isStale = true }

  /// Applies a complete difference whose base is the replica's revision.
  ///
  /// - Throws: the mismatch; the replica is then as it was, and stale.
  func apply(_ entries: DecodedEntries, _ record: DecodedChangeset) throws(ReplicaFault) {
    do throws(ReplicaFault) {
      try state.apply(entries)
      guard state.totals.checksum == record.checksum else {
        throw ReplicaFault(
          .checksum,
          "feed \(record.feed.quotedForMessage()) revision \(record.revision): the checksum is "
            + "\(Replica.hexadecimal(state.totals.checksum)), expected \(Replica.hexadecimal(record.checksum))"
        )
      }
    } catch {
      state.rollBack()
      isStale = true
      throw error
    }
    state.confirm()
    revision = record.revision
    through = record.through
  }

  static func hexadecimal(_ value: UInt32) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// Checks everything that is kept incrementally; for tests.
  public func checkInvariants() { state.checkInvariants() }
}
