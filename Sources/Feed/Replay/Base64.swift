/// Base64 of RFC 4648, section 4: with padding, and nothing that it does not need.
enum Base64 {
  /// The bytes that a text stands for, in the arena; nil where it is not Base64.
  static func decoded(_ text: ByteSpan, arena: ScratchArena) -> ByteSpan? {
    guard text.count % 4 == 0 else { return nil }
    if text.isEmpty { return .empty }
    var padding = 0
    while padding < 2, text[text.count - 1 - padding] == UInt8(ascii: "=") { padding += 1 }
    let bytes = arena.allocate(text.count / 4 * 3)
    var written = 0
    for start in stride(from: 0, to: text.count, by: 4) {
      let isLast = start + 4 == text.count
      var group: UInt32 = 0
      for at in start..<start + 4 {
        let isPadding = isLast && at >= text.count - padding
        guard let digit = isPadding ? 0 : digit(text[at]) else { return nil }
        group = group << 6 | digit
      }
      let count = isLast ? 3 - padding : 3
      // Bits that stand for nothing must be 0, so that no bytes have two spellings.
      if group & ((1 << UInt32(8 * (3 - count))) - 1) != 0 { return nil }
      for index in 0..<count {
        bytes[written + index] = UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * index))
      }
      written += count
    }
    return ByteSpan(UnsafePointer(bytes), written)
  }

  private static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
