/// The parts of one changeset that have arrived so far.
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
  /// A reload as far as it has come.
  private(set) var state: FeedState?
  /// What is wrong with its entries, which counts once all parts have arrived.
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

  /// The same for another thread, which shares only the bytes of the parts. O(n) for a reload of which n elements have arrived.
  func copy() -> PendingParts {
    var copy = self
    copy.epoch = epoch.copy()
    copy.reason = reason.copy()
    copy.state = state?.copyOfCurrent()
    return copy
  }

  /// What it counts as for a bound on state.
  var heldBytes: Int { state?.measure.bytes ?? byteCount }

  /// Whether a record is the next part of this changeset.
  func continues(with record: DecodedChangeset) -> Bool {
    record.revision == revision && record.mode == mode && record.parts == parts && record.checksum == checksum
      && record.part == received && epoch.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.epoch) }
      && reason.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.reasonText) }
  }
}
