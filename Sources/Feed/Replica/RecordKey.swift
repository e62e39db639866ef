/// The key of a record on the changesets topic: `k<part>/<feed>` or `d<n>/<feed>`.
public struct RecordKey {
  public enum Kind: Sendable {
    /// A part of a reload, from 0.
    case reload
    /// A delta record since the last reload, from 1.
    case delta
  }

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
      // No feed has as many parts or deltas as ten digits count.
      guard digit < 10, at < 10 else { return nil }
      number = number * 10 + Int(digit)
      at += 1
    }
    guard at > 1, at + 1 < key.count else { return nil }
    self.number = number
    feed = ByteSpan(key.base + at + 1, key.count - at - 1)
  }
}
