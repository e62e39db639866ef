/// The escapes of JSON strings.
enum JSONString {
  /// The number in the four hexadecimal digits at `index`, or nil.
  static func codeUnit(_ text: ByteSpan, _ index: Int) -> UInt32? {
    guard index + 4 <= text.count else { return nil }
    var value: UInt32 = 0
    for at in index..<index + 4 {
      let byte = text[at]
      let digit: UInt8
      switch byte {
      case 0x30...0x39: digit = byte - 0x30
      case 0x41...0x46: digit = byte - 0x37
      case 0x61...0x66: digit = byte - 0x57
      default: return nil
      }
      value = value << 4 | UInt32(digit)
    }
    return value
  }

  /// The bytes of the escape whose backslash is at `index`, or nil if it is invalid.
  static func escapeCount(_ text: ByteSpan, _ index: Int) -> Int? {
    switch text[index + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      2
    case UInt8(ascii: "u"): codeUnit(text, index + 2) == nil ? nil : 6
    default: nil
    }
  }

  /// Resolves the escapes of a string whose escapes were validated; `target` has room for
  /// `raw.count` bytes. Returns the number of bytes written. An unpaired surrogate becomes the
  /// three bytes of its code point, which are not UTF-8.
  static func unescape(_ raw: ByteSpan, into target: UnsafeMutablePointer<UInt8>) -> Int {
    var at = 0
    var count = 0
    while at < raw.count {
      let byte = raw[at]
      guard byte == UInt8(ascii: "\\") else {
        target[count] = byte
        count += 1
        at += 1
        continue
      }
      let escape = raw[at + 1]
      at += 2
      var scalar: UInt32
      switch escape {
      case UInt8(ascii: "b"): scalar = 8
      case UInt8(ascii: "t"): scalar = 9
      case UInt8(ascii: "n"): scalar = 10
      case UInt8(ascii: "f"): scalar = 12
      case UInt8(ascii: "r"): scalar = 13
      case UInt8(ascii: "u"):
        scalar = codeUnit(raw, at) ?? 0xFFFD
        at += 4
        if scalar & 0xFC00 == 0xD800, let low = lowSurrogate(raw, at) {
          scalar = 0x10000 + (scalar & 0x3FF) << 10 + (low & 0x3FF)
          at += 6
        }
      default: scalar = UInt32(escape)
      }
      count += encode(scalar, to: target + count)
    }
    return count
  }

  /// A string with its validated escapes resolved: itself if it has none, otherwise a copy in the arena.
  static func unescaped(_ raw: ByteSpan, arena: ScratchArena) -> ByteSpan {
    if !raw.contains(UInt8(ascii: "\\")) { return raw }
    let copy = arena.allocate(raw.count)
    let count = unescape(raw, into: copy)
    arena.giveBack(raw.count - count)
    return ByteSpan(UnsafePointer(copy), count)
  }

  /// Whether the string has a surrogate escape without a partner.
  static func hasUnpairedSurrogate(_ raw: ByteSpan) -> Bool {
    var at = 0
    while at < raw.count {
      guard raw[at] == UInt8(ascii: "\\") else {
        at += 1
        continue
      }
      guard raw[at + 1] == UInt8(ascii: "u"), let unit = codeUnit(raw, at + 2) else {
        at += 2
        continue
      }
      at += 6
      if unit & 0xFC00 == 0xDC00 { return true }
      if unit & 0xFC00 == 0xD800 {
        guard lowSurrogate(raw, at) != nil else { return true }
        at += 6
      }
    }
    return false
  }

  private static func lowSurrogate(_ raw: ByteSpan, _ at: Int) -> UInt32? {
    guard at + 6 <= raw.count, raw[at] == UInt8(ascii: "\\"), raw[at + 1] == UInt8(ascii: "u"),
      let unit = codeUnit(raw, at + 2), unit & 0xFC00 == 0xDC00
    else { return nil }
    return unit
  }

  private static func encode(_ scalar: UInt32, to target: UnsafeMutablePointer<UInt8>) -> Int {
    func continuation(_ shift: UInt32) -> UInt8 { UInt8(0x80 | (scalar >> shift) & 0x3F) }
    switch scalar {
    case 0..<0x80:
      target[0] = UInt8(scalar)
      return 1
    case 0x80..<0x800:
      target[0] = UInt8(0xC0 | scalar >> 6)
      target[1] = continuation(0)
      return 2
    case 0x800..<0x10000:
      target[0] = UInt8(0xE0 | scalar >> 12)
      target[1] = continuation(6)
      target[2] = continuation(0)
      return 3
    default:
      target[0] = UInt8(0xF0 | scalar >> 18)
      target[1] = continuation(12)
      target[2] = continuation(6)
      target[3] = continuation(0)
      return 4
    }
  }

  /// Whether the string has bytes that JSON requires to be escaped.
  @inline(__always)
  static func needsEscapes(_ text: ByteSpan) -> Bool {
    let raw = UnsafeRawPointer(text.base)
    guard text.count >= 8 else { return needsEscapes(shortWord(raw, text.count)) }
    // Eight bytes at a time; the last word may overlap the previous one. Most strings are short.
    var at = 0
    let last = text.count - 8
    while at < last {
      if needsEscapes(raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)) { return true }
      at += 8
    }
    return needsEscapes(raw.loadUnaligned(fromByteOffset: last, as: UInt64.self))
  }

  /// Fewer than eight bytes as a word, padded with bytes that need no escape; some bytes may occur twice.
  @inline(__always)
  private static func shortWord(_ raw: UnsafeRawPointer, _ count: Int) -> UInt64 {
    if count >= 4 {
      let first = raw.loadUnaligned(as: UInt32.self)
      let last = raw.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
      return UInt64(first) << 32 | UInt64(last)
    }
    var word = UInt64(0x2020_2020_2020_2020)
    for at in 0..<count { word = word << 8 | UInt64(raw.load(fromByteOffset: at, as: UInt8.self)) }
    return word
  }

  /// Whether one of the word's eight bytes is a quote, a backslash or a control character.
  @inline(__always)
  private static func needsEscapes(_ word: UInt64) -> Bool {
    // The classic test for a byte below a bound: the subtraction borrows from its top bit.
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ (ones &* 0x22)
    let backslashes = word ^ (ones &* 0x5C)
    let found =
      ((word &- ones &* 0x20) & ~word) | ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
    return found & (ones &* 0x80) != 0
  }

  /// Bytes that the quoted string takes: two quotes, and escapes for `"`, `\` and control characters.
  static func quotedCount(_ text: ByteSpan) -> Int {
    var count = text.count + 2
    if !needsEscapes(text) { return count }
    for byte in text.buffer where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
      switch byte {
      case 8, 9, 10, 12, 13, UInt8(ascii: "\""), UInt8(ascii: "\\"): count += 1
      default: count += 5
      }
    }
    return count
  }
}

extension ByteWriter {
  /// Appends a string in quotes, escaping only what JSON requires.
  public func append(quoted text: ByteSpan) {
    append(quoted: text, needsEscapes: JSONString.needsEscapes(text))
  }

  /// Appends a string in quotes if the caller knows whether it needs escapes.
  @inline(__always)
  func append(quoted text: ByteSpan, needsEscapes: Bool) {
    if needsEscapes { appendEscaped(text) } else { append(text, between: UInt8(ascii: "\"")) }
  }

  @inline(never)
  private func appendEscaped(_ text: ByteSpan) {
    append(UInt8(ascii: "\""))
    defer { append(UInt8(ascii: "\"")) }
    for byte in text.buffer {
      switch byte {
      case UInt8(ascii: "\""): append("\\\"")
      case UInt8(ascii: "\\"): append("\\\\")
      case 8: append("\\b")
      case 9: append("\\t")
      case 10: append("\\n")
      case 12: append("\\f")
      case 13: append("\\r")
      case 0..<0x20:
        append("\\u00")
        append(byte < 16 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
        let digit = byte & 15
        append(digit < 10 ? digit + 0x30 : digit + 0x57)
      default: append(byte)
      }
    }
  }
}
