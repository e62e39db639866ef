/// The checksum of a whole feed (protocol, section 4.3).
public enum OracleChecksum {
  public static func of(_ feed: OracleFeed) -> UInt32 {
    var sum: UInt32 = 0
    var previousSection: [UInt8] = []
    for section in feed.sections {
      sum &+= hash([Array("s".utf8), previousSection, section.id])
      if keeps(.checksumOfOrder) { previousSection = section.id }
      var previous: [UInt8] = []
      for item in section.items {
        sum &+= hash([
          Array("i".utf8), keeps(.checksumOfSections) ? section.id : [], previous, item.id,
          keeps(.checksumOfKinds) ? item.kind : [],
        ])
        if keeps(.checksumOfOrder) { previous = item.id }
      }
    }
    return sum
  }

  private static func hash(_ fields: [[UInt8]]) -> UInt32 {
    OracleXXH32.hash(Array(fields.joined(separator: keeps(.checksumSeparators) ? [0] : [])))
  }

  /// Eight lower-case hexadecimal digits.
  public static func text(_ sum: UInt32) -> String {
    let digits = String(sum, radix: 16)
    return keeps(.checksumDigits) ? String(repeating: "0", count: 8 - digits.count) + digits : digits
  }
}

/// XXH32 with seed 0, according to its specification.
public enum OracleXXH32 {
  private static let prime1: UInt32 = 2_654_435_761
  private static let prime2: UInt32 = 2_246_822_519
  private static let prime3: UInt32 = 3_266_489_917
  private static let prime4: UInt32 = 668_265_263
  private static let prime5: UInt32 = 374_761_393

  public static func hash(_ bytes: [UInt8]) -> UInt32 {
    var at = 0
    var hash = prime5
    if bytes.count >= 16 {
      var lanes = [prime1 &+ prime2, prime2, 0, 0 &- prime1]
      while at + 16 <= bytes.count {
        for lane in 0..<4 {
          lanes[lane] &+= word(bytes, at + 4 * lane) &* prime2
          lanes[lane] = rotated(lanes[lane], by: 13) &* prime1
        }
        at += 16
      }
      hash = rotated(lanes[0], by: 1) &+ rotated(lanes[1], by: 7)
      hash &+= rotated(lanes[2], by: 12) &+ rotated(lanes[3], by: 18)
    }
    hash &+= UInt32(truncatingIfNeeded: bytes.count)
    while at + 4 <= bytes.count {
      hash = rotated(hash &+ word(bytes, at) &* prime3, by: 17) &* prime4
      at += 4
    }
    for byte in bytes[at...] {
      hash = rotated(hash &+ UInt32(byte) &* prime5, by: 11) &* prime1
    }
    hash = (hash ^ hash >> 15) &* prime2
    hash = (hash ^ hash >> 13) &* prime3
    return hash ^ hash >> 16
  }

  private static func word(_ bytes: [UInt8], _ at: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << UInt32(8 * $1) }
  }

  private static func rotated(_ value: UInt32, by bits: UInt32) -> UInt32 {
    value << bits | value >> (32 - bits)
  }
}
