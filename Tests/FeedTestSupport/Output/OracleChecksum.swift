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
