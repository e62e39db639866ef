/// The parts of one changeset that have arrived so far.
struct PendingParts {
  private(set) var epoch: [UInt8]
  let revision: UInt64
  let mode: ChangesetMode
  let reason: ReloadReason?
  let parts: Int
  var received = 0
  var byteCount = 0
  /// The values of a difference's parts, which are applied together.
  var values: [OwnedSpan] = []
  /// A reload as far as it has come.
  var state: FeedState?

  init(_ record: DecodedChangeset) {
    epoch = Array(record.epoch.buffer)
    revision = record.revision
    mode = record.mode
    reason = record.reason
    parts = record.parts
    if mode == .reload { state = FeedState() }
  }

  /// The same for another thread, which shares only the bytes of the parts. O(n) for a reload of which n elements have arrived.
  func copy() -> PendingParts {
    var copy = self
    copy.epoch = epoch.copy()
    copy.state = state?.copyOfCurrent()
    return copy
  }

  /// What it counts as for a bound on state.
  var heldBytes: Int { state?.measure.bytes ?? byteCount }

  /// Whether a record is the next part of this changeset.
  func continues(with record: DecodedChangeset) -> Bool {
    record.revision == revision && record.mode == mode && record.reason == reason && record.parts == parts
      && record.part == received && epoch.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.epoch) }
  }
}
