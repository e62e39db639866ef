/// XXH32 with seed 0, as specified at
/// https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
func xxh32(_ bytes: [UInt8]) -> UInt32 {
  let (p1, p2, p3): (UInt32, UInt32, UInt32) = (0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d)
  let (p4, p5): (UInt32, UInt32) = (0x27d4_eb2f, 0x1656_67b1)
  func rotated(_ value: UInt32, _ bits: UInt32) -> UInt32 { value << bits | value >> (32 - bits) }
  func word(_ at: Int) -> UInt32 {
    UInt32(bytes[at]) | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2]) << 16 | UInt32(bytes[at + 3]) << 24
  }
  var at = 0
  var hash = p5
  if bytes.count >= 16 {
    var lanes: (UInt32, UInt32, UInt32, UInt32) = (p1 &+ p2, p2, 0, 0 &- p1)
    func mixed(_ lane: UInt32, _ at: Int) -> UInt32 { rotated(lane &+ word(at) &* p2, 13) &* p1 }
    while at + 16 <= bytes.count {
      lanes = (mixed(lanes.0, at), mixed(lanes.1, at + 4), mixed(lanes.2, at + 8), mixed(lanes.3, at + 12))
      at += 16
    }
    hash = rotated(lanes.0, 1) &+ rotated(lanes.1, 7) &+ rotated(lanes.2, 12) &+ rotated(lanes.3, 18)
  }
  hash = hash &+ UInt32(truncatingIfNeeded: bytes.count)
  while at + 4 <= bytes.count {
    hash = rotated(hash &+ word(at) &* p3, 17) &* p4
    at += 4
  }
  while at < bytes.count {
    hash = rotated(hash &+ UInt32(bytes[at]) &* p5, 11) &* p1
    at += 1
  }
  hash = (hash ^ hash >> 15) &* p2
  hash = (hash ^ hash >> 13) &* p3
  return hash ^ hash >> 16
}

/// A feed's checksum is the sum, modulo 2³², of one term for each element: it tells order and kinds.
enum ChecksumTerm {
  static func section(_ id: SectionID, after previous: SectionID?) -> UInt32 {
    xxh32(joined("s", previous?.rawValue ?? "", id.rawValue))
  }

  static func item(_ item: FeedItem, after previous: FeedItem?) -> UInt32 {
    xxh32(joined("i", item.section.rawValue, previous?.id.rawValue ?? "", item.id.rawValue, item.kind))
  }

  /// The terms of a whole list of items.
  static func items(_ items: [FeedItem]) -> UInt32 {
    items.indices.reduce(0) { $0 &+ item(items[$1], after: $1 > 0 ? items[$1 - 1] : nil) }
  }

  private static func joined(_ first: String, _ fields: String...) -> [UInt8] {
    var bytes = Array(first.utf8)
    for field in fields {
      bytes.append(0)
      bytes.append(contentsOf: field.utf8)
    }
    return bytes
  }
}

func hexadecimal(_ checksum: UInt32) -> String {
  let digits = String(checksum, radix: 16)
  return String(repeating: "0", count: 8 - digits.count) + digits
}
