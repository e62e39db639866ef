import Glibc

/// A JSON text with the index of its structure: where every bracket, colon, comma and the start
/// of every string, number and literal is.
///
/// A value is named by the position in the index where it starts (a *token*). After `validate`
/// has passed, the other methods may rely on the grammar.
public struct JSONText {
  /// The text.
  public let bytes: ByteSpan
  let offsets: UnsafePointer<UInt32>
  let offsetCount: Int
  /// Whether there is a backslash anywhere, and so an escape in some string.
  let hasEscapes: Bool

  init(bytes: ByteSpan, offsets: UnsafePointer<UInt32>, offsetCount: Int) {
    hasEscapes = bytes.contains(UInt8(ascii: "\\"))
    self.bytes = bytes
    self.offsets = offsets
    self.offsetCount = offsetCount
  }

  /// The first byte of a token.
  @inline(__always)
  func character(_ token: Int) -> UInt8 { bytes.base[Int(offsets[token])] }

  /// The token after the value that starts at `token`.
  func tokenAfterValue(_ token: Int) -> Int {
    var depth = 0
    var token = token
    repeat {
      switch character(token) {
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
      token += 1
    } while depth > 0
    return token
  }

  /// The depth of the value in tokens `first..<end`: 0 for a scalar.
  func depth(from first: Int, to end: Int) -> Int {
    var depth = 0
    var deepest = 0
    for token in first..<end {
      switch character(token) {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        deepest = max(deepest, depth)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
    }
    return deepest
  }

  /// The offset where a token ends: after its bracket, closing quote, last digit or letter.
  func endOffset(_ token: Int) -> Int {
    let start = Int(offsets[token])
    switch bytes.base[start] {
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ":"),
      UInt8(ascii: ","):
      return start + 1
    default:
      // Only white space stands between a scalar's end and the next token, or the text's end.
      var end = token + 1 < offsetCount ? Int(offsets[token + 1]) : bytes.count
      while end > start + 1, JSONText.isSpace(bytes.base[end - 1]) { end -= 1 }
      return end
    }
  }

  /// The bytes of the value in tokens `first..<end`, as they stand.
  func span(from first: Int, to end: Int) -> ByteSpan {
    let start = Int(offsets[first])
    return ByteSpan(bytes.base + start, endOffset(end - 1) - start)
  }

  /// The bytes of the value in tokens `first..<end` without white space between tokens: the text
  /// itself where there is none, else a copy in the arena.
  func compactSpan(from first: Int, to end: Int, arena: ScratchArena) -> ByteSpan {
    let whole = span(from: first, to: end)
    var token = first + 1
    while token < end, !JSONText.isSpace(bytes.base[Int(offsets[token]) - 1]) { token += 1 }
    if token == end { return whole }
    let copy = arena.allocate(whole.count)
    var count = 0
    for token in first..<end {
      let start = Int(offsets[token])
      let length = endOffset(token) - start
      memcpy(copy + count, bytes.base + start, length)
      count += length
    }
    arena.giveBack(whole.count - count)
    return ByteSpan(UnsafePointer(copy), count)
  }

  /// What is between a string token's quotes, escapes not resolved.
  func rawString(_ token: Int) -> ByteSpan {
    let start = Int(offsets[token]) + 1
    return ByteSpan(bytes.base + start, endOffset(token) - 1 - start)
  }

  /// A string token's content with its escapes resolved: the text itself where it has none.
  func string(_ token: Int, arena: ScratchArena) -> ByteSpan {
    let raw = rawString(token)
    if !hasEscapes || !raw.contains(UInt8(ascii: "\\")) { return raw }
    let copy = arena.allocate(raw.count)
    let count = JSONString.unescape(raw, into: copy)
    arena.giveBack(raw.count - count)
    return ByteSpan(UnsafePointer(copy), count)
  }

  /// The number token's value if it is spelled as a plain decimal integer that fits.
  func integer(_ token: Int) -> Int64? {
    let start = Int(offsets[token])
    let end = endOffset(token)
    var at = start
    let isNegative = bytes.base[at] == UInt8(ascii: "-")
    if isNegative { at += 1 }
    var value: Int64 = 0
    while at < end {
      let digit = bytes.base[at] &- 0x30
      guard digit < 10 else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflow2) =
        isNegative
        ? product.subtractingReportingOverflow(Int64(digit)) : product.addingReportingOverflow(Int64(digit))
      if overflow || overflow2 { return nil }
      value = sum
      at += 1
    }
    return value
  }

  /// Whether the byte is one of JSON's four white space characters.
  @inline(__always)
  static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 && (0x1_0000_2600 as UInt64) >> byte & 1 == 1 }
}
