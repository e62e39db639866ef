/// The key of a record on the changesets topic: `k<part>/<feed>` or `d<n>/<feed>`.
public struct RecordKey {
  public enum Kind: Sendable {
    /// A part of a reload, from 0.
    case reload
    /// A delta record since the last reload, from 1.
    case delta
  }

  /// The greatest number in a key. A deletion nulls all keys up to the greatest that was used, so whoever writes a greater
  /// one into the topic could have that take as long as they like.
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
