/// What the keys of one feed on the changesets topic hold, recovered by reading them: what a store
/// must know to go on writing that feed.
struct FeedKeys {
  private(set) var epoch: [UInt8]
  /// Delta records since the last reload, and the bytes of their values.
  private(set) var deltaCount = 0
  private(set) var deltaBytes = 0
  /// Bytes and number of the last reload's values.
  private(set) var reloadBytes = 0
  private(set) var reloadParts = 0
  /// The largest delta number of the epoch that holds a value.
  private(set) var highestDelta = 0

  /// The reload that is being read.
  private var partRevision: UInt64 = 0
  private var partReason: ReloadReason?
  private var partsRead = 0
  private var partBytes = 0
  /// How many parts it has; 0 if none is being read.
  private var partCount = 0

  init(epoch: ByteSpan) {
    self.epoch = Array(epoch.buffer)
  }

  /// Those of a feed that a store has given up.
  init(_ version: PublishedVersion) {
    epoch = version.epoch
    deltaCount = version.deltaCount
    deltaBytes = version.deltaBytes
    reloadBytes = version.reloadBytes
    reloadParts = version.reloadParts
    highestDelta = version.highestDelta
  }

  func isOfEpoch(_ record: DecodedChangeset) -> Bool {
    epoch.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.epoch) }
  }

  /// Notes a record with a value; a keyframe counts like any reload.
  mutating func note(_ key: RecordKey, _ record: DecodedChangeset, byteCount: Int) {
    switch key.kind {
    case .delta:
      deltaCount = key.number
      deltaBytes += byteCount
      highestDelta = max(highestDelta, key.number)
      partCount = 0
    case .reload:
      notePart(record, byteCount: byteCount)
    }
  }

  private mutating func notePart(_ record: DecodedChangeset, byteCount: Int) {
    if record.part == 0 {
      partRevision = record.revision
      partReason = record.reason
      partsRead = 0
      partBytes = 0
      partCount = record.parts
    } else if record.revision != partRevision || record.reason != partReason || record.part != partsRead {
      // What compaction has left of an older reload.
      return
    }
    partsRead += 1
    partBytes += byteCount
    guard partsRead == record.parts else { return }
    deltaCount = 0
    deltaBytes = 0
    partCount = 0
    reloadBytes = partBytes
    reloadParts = record.parts
  }

  /// The same without shared memory.
  func copy() -> FeedKeys {
    var copy = self
    copy.epoch = epoch.copy()
    return copy
  }

  /// The version that a feed goes on from.
  func version(of replica: Replica) -> PublishedVersion {
    var version = PublishedVersion(epoch: replica.epoch, revision: replica.revision, through: replica.through)
    version.deltaCount = deltaCount
    version.deltaBytes = deltaBytes
    version.reloadBytes = reloadBytes
    version.reloadParts = reloadParts
    version.highestDelta = highestDelta
    return version
  }
}
