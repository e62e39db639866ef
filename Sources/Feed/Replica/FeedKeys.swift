/// What the keys of one feed on the changesets topic hold, recovered by reading them: what a store
/// must know to go on writing that feed.
struct FeedKeys {
  /// The revision, and what it goes through, are the replica's.
  private var version: PublishedVersion

  /// The reload that is being read.
  private var partRevision: UInt64 = 0
  private var partReason: ReloadReason?
  private var partsRead = 0
  private var partBytes = 0

  init(epoch: ByteSpan) {
    version = PublishedVersion(epoch: Array(epoch.buffer), revision: 0, through: [])
  }

  /// Those of a feed that a store has given up.
  init(_ version: PublishedVersion) {
    self.version = version
    self.version.through = []
  }

  var epoch: [UInt8] { version.epoch }

  func isOfEpoch(_ record: DecodedChangeset) -> Bool {
    version.epoch.withUnsafeBytes { ByteSpan($0).hasSameBytes(as: record.epoch) }
  }

  /// Counts a record with a value; a keyframe counts like any reload.
  mutating func record(_ key: RecordKey, _ record: DecodedChangeset, byteCount: Int) {
    switch key.kind {
    case .delta:
      version.deltaCount = key.number
      version.deltaBytes += byteCount
      version.highestDelta = max(version.highestDelta, key.number)
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
    } else if record.revision != partRevision || record.reason != partReason || record.part != partsRead {
      // What compaction has left of an older reload.
      return
    }
    partsRead += 1
    partBytes += byteCount
    guard partsRead == record.parts else { return }
    version.deltaCount = 0
    version.deltaBytes = 0
    version.reloadBytes = partBytes
    version.reloadParts = record.parts
  }

  /// The same without shared memory.
  func copy() -> FeedKeys {
    var copy = self
    copy.version.epoch = epoch.copy()
    return copy
  }

  /// The version that a feed goes on from.
  func version(of replica: Replica) -> PublishedVersion {
    var version = version
    version.epoch = replica.epoch
    version.revision = replica.revision
    version.through = replica.through
    return version
  }
}

/// The key of a record on the changesets topic: `k<part>/<feed>` or `d<n>/<feed>`.
public struct RecordKey {
  public enum Kind: Sendable {
    /// A part of a reload, from 0.
    case reload
    /// A delta record since the last reload, from 1.
    case delta
  }

  /// The greatest number in a key. A deletion nulls all keys up to the greatest that was used, so that a greater
  /// one in the topic could make that take as long as its writer likes.
  public static let greatestNumber = 1_000_000

  /// What keys look like, for messages about one that does not.
  package static let form =
    "k<part>/<feed> nor d<n>/<feed>, with numbers from k0 and d1 to \(greatestNumber) and no zeros before them"

  public let kind: Kind
  public let number: Int
  public let feed: ByteSpan

  /// Nil if the bytes are no such key.
  public init?(_ key: ByteSpan) {
    guard key.count >= 4 else { return nil }
    switch key[0] {
    case UInt8(ascii: "k"): kind = .reload
    case UInt8(ascii: "d"): kind = .delta
    default: return nil
    }
    var number = 0
    var at = 1
    while at < key.count, key[at] != UInt8(ascii: "/") {
      let digit = key[at] &- 0x30
      // "k01/a" would be another key than "k1/a", and a deletion would leave it.
      guard digit < 10, at == 1 || number > 0 else { return nil }
      number = number * 10 + Int(digit)
      guard number <= RecordKey.greatestNumber else { return nil }
      at += 1
    }
    guard at > 1, at + 1 < key.count, kind == .reload || number > 0 else { return nil }
    self.number = number
    feed = ByteSpan(key.base + at + 1, key.count - at - 1)
  }
}
