/// UTF-8 by table 3-7 of the Unicode standard, byte by byte.
public enum OracleUTF8 {
  public static func isValid(_ bytes: [UInt8]) -> Bool {
    var at = 0
    while at < bytes.count {
      if bytes[at] < 0x80 {
        at += 1
        continue
      }
      guard let rest = continuation(of: bytes[at]) else { return false }
      guard at + rest.count < bytes.count else { return false }
      for (offset, allowed) in rest.enumerated() where !allowed.contains(bytes[at + 1 + offset]) {
        return false
      }
      at += 1 + rest.count
    }
    return true
  }

  /// The valid ranges of the bytes after a first byte; nil unless it begins a sequence.
  private static func continuation(of first: UInt8) -> [ClosedRange<UInt8>]? {
    let tail: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: return [tail]
    case 0xE0: return [0xA0...0xBF, tail]
    case 0xED: return [0x80...0x9F, tail]
    case 0xE1...0xEF: return [tail, tail]
    case 0xF0: return [0x90...0xBF, tail, tail]
    case 0xF1...0xF3: return [tail, tail, tail]
    case 0xF4: return [0x80...0x8F, tail, tail]
    default: return nil
    }
  }

  /// The UTF-8 bytes of a scalar value.
  static func encode(_ scalar: UInt32) -> [UInt8] {
    func tail(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(scalar >> shift & 0x3F) }
    switch scalar {
    case 0..<0x80: return [UInt8(scalar)]
    case 0x80..<0x800: return [0xC0 | UInt8(scalar >> 6), tail(0)]
    case 0x800..<0x10000: return [0xE0 | UInt8(scalar >> 12), tail(6), tail(0)]
    default: return [0xF0 | UInt8(scalar >> 18), tail(12), tail(6), tail(0)]
    }
  }
}
