/// The values under the keys of one feed on the changesets topic, recovered by reading them. A store needs
/// them to continue writing the feed.
struct FeedKeys {
  /// The replica has the revision and `through`.
  private var version: PublishedVersion

  /// The reload of the parts that were read last.
  private var partRevision: UInt64 = 0
  private var partReason: ReloadReason?
  private var partsRead = 0
  private var partBytes = 0

  init(epoch: ByteSpan) {
    version = PublishedVersion(epoch: Array(epoch.buffer), revision: 0, through: [])
  }

  /// The keys of a feed that a store has given up.
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
      // Compaction has left this part of an older reload.
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

  /// A copy without shared memory.
  func copy() -> FeedKeys {
    var copy = self
    copy.version.epoch = epoch.copy()
    return copy
  }

  /// The version from which a feed continues.
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

  /// The greatest number in a key. A deletion nulls all keys up to the greatest used: this is a bound.
  public static let greatestNumber = 1_000_000

  /// The form of keys, for messages.
  package static let form =
    "k<part>/<feed> nor d<n>/<feed>, with numbers from k0 and d1 to \(greatestNumber) and no zeros before them"

  public let kind: Kind
  public let number: Int
  public let feed: ByteSpan

  /// Nil if the bytes do not have this form.
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
      // "k01/a" would be another key than "k1/a", and a deletion would not remove it.
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
