import Glibc

/// A JSON text with the index of its structure: the positions of every bracket, colon and comma, and of the
/// start of every string, number and literal.
///
/// A value is named by the position in the index where it starts (a *token*).
///
/// An indexer reuses one object for all its texts.
public final class JSONText {
  /// The text.
  @exclusivity(unchecked) public private(set) var bytes: ByteSpan
  /// The offset of each token, followed by the length of the text.
  @exclusivity(unchecked) private(set) var offsets: UnsafePointer<UInt32>
  @exclusivity(unchecked) package private(set) var offsetCount = 0
  /// Whether the text has a backslash, and so an escape in some string.
  @exclusivity(unchecked) private(set) var hasEscapes = false
  /// For the token of each opening bracket, the token of its closing bracket.
  @exclusivity(unchecked) private(set) var closings: UnsafeMutablePointer<UInt32>
  /// Whether there is white space between tokens or at the end, so that a token may end before the next one starts.
  @exclusivity(unchecked) private var hasSpaces = true
  /// The nesting depth of the text: 0 for a scalar.
  @exclusivity(unchecked) package private(set) var depth = 0

  /// An empty text, until `describe` is called.
  ///
  /// - Parameter closings: memory that is not read.
  init(closings: UnsafeMutablePointer<UInt32>) {
    bytes = .empty
    offsets = UnsafePointer(closings)
    self.closings = closings
  }

  /// Makes this the description of another text.
  ///
  /// - Parameters:
  ///   - offsets: the tokens' offsets, followed by the length of the text.
  ///   - closings: for each opening bracket, its closing bracket.
  @inline(__always)
  func describe(
    _ bytes: ByteSpan,
    offsets: UnsafePointer<UInt32>,
    closings: UnsafeMutablePointer<UInt32>,
    _ pass: JSONPass
  ) {
    self.bytes = bytes
    self.offsets = offsets
    self.offsetCount = pass.tokenCount
    self.closings = closings
    hasEscapes = pass.found.contains(.escapes)
    hasSpaces = pass.hasSpaces
    depth = pass.depth
  }

  /// Makes this describe a text with the structure of a validated one, which may be the same.
  @inline(__always)
  func describe(_ bytes: ByteSpan, structuredAs other: JSONText) {
    precondition(bytes.count == other.bytes.count, "texts of one structure are of one length")
    self.bytes = bytes
    offsets = other.offsets
    offsetCount = other.offsetCount
    hasEscapes = other.hasEscapes
    closings = other.closings
    hasSpaces = other.hasSpaces
    depth = other.depth
  }

  /// Whether the text has neither escapes nor white space: tokens are adjacent, strings need no decoding.
  var isPlain: Bool { !hasEscapes && !hasSpaces }

  /// The first byte of a token.
  @inline(__always)
  package func character(_ token: Int) -> UInt8 { bytes.base[Int(offsets[token])] }

  /// The token after the value that starts at `token`.
  @inline(__always)
  package func tokenAfterValue(_ token: Int) -> Int {
    switch character(token) {
    case UInt8(ascii: "{"), UInt8(ascii: "["): Int(closings[token]) + 1
    default: token + 1
    }
  }

  /// The depth of the value in tokens `first..<end`: 0 for a scalar.
  package func depth(from first: Int, to end: Int) -> Int {
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
  @inline(__always)
  func endOffset(_ token: Int) -> Int {
    hasSpaces ? endOffsetBeforeSpaces(token) : Int(offsets[token + 1])
  }

  private func endOffsetBeforeSpaces(_ token: Int) -> Int {
    let start = Int(offsets[token])
    var end = Int(offsets[token + 1])
    // Only white space is between a token's end and the next one, or the text's end.
    while end > start + 1, JSONText.isSpace(bytes.base[end - 1]) { end -= 1 }
    return end
  }

  /// The bytes of the value in tokens `first..<end`, unchanged.
  @inline(__always)
  package func span(from first: Int, to end: Int) -> ByteSpan {
    let start = Int(offsets[first])
    return ByteSpan(bytes.base + start, endOffset(end - 1) - start)
  }

  /// The bytes of the value in tokens `first..<end` without white space between tokens: the text itself if
  /// there is none, otherwise a copy in the arena.
  @inline(__always)
  func compactSpan(from first: Int, to end: Int, arena: ScratchArena) -> ByteSpan {
    hasSpaces ? withoutSpaces(from: first, to: end, arena) : span(from: first, to: end)
  }

  private func withoutSpaces(from first: Int, to end: Int, _ arena: ScratchArena) -> ByteSpan {
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

  /// The bytes between a string token's quotes, escapes not resolved.
  @inline(__always)
  func rawString(_ token: Int) -> ByteSpan {
    let start = Int(offsets[token]) + 1
    return ByteSpan(bytes.base + start, endOffset(token) - 1 - start)
  }

  /// A string token's content with its escapes resolved: the text itself if it has none.
  @inline(__always)
  package func string(_ token: Int, arena: ScratchArena) -> ByteSpan {
    hasEscapes ? JSONString.unescaped(rawString(token), arena: arena) : rawString(token)
  }

  /// The number token's value if it is a plain decimal integer that fits.
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

  /// Whether the text has an escape, an array, or a string that begins with one of these pairs of bytes.
  package func mayHave(_ pairs: SIMD4<UInt16>) -> Bool {
    if hasEscapes { return true }
    for token in 0..<offsetCount {
      let character = character(token)
      if character == UInt8(ascii: "[") { return true }
      let start = Int(offsets[token]) + 1
      guard character == UInt8(ascii: "\""), start + 2 <= bytes.count else { continue }
      let pair = UnsafeRawPointer(bytes.base + start).loadUnaligned(as: UInt16.self)
      if any(pairs .== SIMD4(repeating: pair)) { return true }
    }
    return false
  }

  /// The first string in tokens `first..<end` that has a surrogate escape without a partner.
  package func unpairedSurrogate(from first: Int, to end: Int) -> JSONFault? {
    guard hasEscapes, span(from: first, to: end).contains(UInt8(ascii: "\\")) else { return nil }
    for token in first..<end where character(token) == UInt8(ascii: "\"") {
      if JSONString.hasUnpairedSurrogate(rawString(token)) {
        return JSONFault(.unpairedSurrogate, at: Int(offsets[token]))
      }
    }
    return nil
  }

  /// The first invalid escape of a text that is otherwise valid.
  var invalidEscape: JSONFault? {
    for token in 0..<offsetCount where character(token) == UInt8(ascii: "\"") {
      let string = rawString(token)
      var at = 0
      while let found = memchr(string.base + at, Int32(UInt8(ascii: "\\")), string.count - at) {
        at = string.base.distance(to: found.assumingMemoryBound(to: UInt8.self))
        guard let count = JSONString.escapeCount(string, at) else {
          return JSONFault(.invalidEscape, at: Int(offsets[token]) + 1 + at + 1)
        }
        at += count
      }
    }
    return nil
  }

  /// Whether the byte is one of JSON's four white space characters.
  @inline(__always)
  package static func isSpace(_ byte: UInt8) -> Bool {
    byte <= 0x20 && (0x1_0000_2600 as UInt64) >> byte & 1 == 1
  }
}

extension JSONText {
  /// A value: its first token, and the token after it.
  package typealias Field = (first: Int, end: Int)

  /// A value's bytes, unchanged.
  @inline(__always)
  package func span(of field: Field) -> ByteSpan { span(from: field.first, to: field.end) }

  /// Visits the members of the object at a token: the name with its escapes resolved, and the value.
  @inline(__always)
  package func forEachMember<Failure: Error>(
    of object: Int,
    arena: ScratchArena,
    _ body: (ByteSpan, Field) throws(Failure) -> Void
  ) throws(Failure) {
    var token = object + 1
    while character(token) != UInt8(ascii: "}") {
      let end = tokenAfterValue(token + 2)
      try body(string(token, arena: arena), (token + 2, end))
      token = character(end) == UInt8(ascii: ",") ? end + 1 : end
    }
  }

  /// Visits the elements of the array that starts at a token.
  @inline(__always)
  package func forEachElement<Failure: Error>(
    of array: Int,
    _ body: (Field) throws(Failure) -> Void
  ) throws(Failure) {
    var token = array + 1
    while character(token) != UInt8(ascii: "]") {
      let end = tokenAfterValue(token)
      try body((token, end))
      token = character(end) == UInt8(ascii: ",") ? end + 1 : end
    }
  }
}
