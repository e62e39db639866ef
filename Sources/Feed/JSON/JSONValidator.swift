import Glibc

/// Checks a JSON text against the grammar of RFC 8259, in one walk over its tokens, and notes on the way what saves
/// later steps a walk: which bracket closes which, and whether there is white space.
///
/// Where an open bracket is closed is not known yet, so there the bracket around it is noted meanwhile: nesting costs
/// neither stack nor memory.
struct JSONValidator {
  private let base: UnsafePointer<UInt8>
  private let byteCount: Int
  private let offsets: UnsafePointer<UInt32>
  private let tokenCount: Int
  private let closings: UnsafeMutablePointer<UInt32>
  /// The token that is looked at next.
  private var next = 0
  /// The innermost open bracket's token, if `depth` is not 0.
  private var open: UInt32 = 0
  /// The byte that closes it; one that no text has if there is none.
  private var closer = JSONValidator.none
  private var depth = 0
  /// The least byte before a token but the first, or at the end of the text.
  private var leastBeforeToken: UInt8 = .max

  /// The most brackets that were open at a time.
  private(set) var deepest = 0
  /// Whether there is white space between tokens or at the end.
  var hasSpaces: Bool { leastBeforeToken <= 0x20 }

  /// No byte of UTF-8.
  private static let none: UInt8 = 0xFF
  private static let objectEnd = UInt8(ascii: "}")
  private static let arrayEnd = UInt8(ascii: "]")

  /// What is found out about a text.
  static func validate(_ text: JSONText) throws(JSONFault) -> JSONValidator {
    let findings = try walk(text)
    // Few texts have escapes, so the walk does not stop at strings.
    if text.hasEscapes { try validateEscapes(text) }
    return findings
  }

  private static func walk(_ text: JSONText) throws(JSONFault) -> JSONValidator {
    // What the walk changes stays in a variable whose address nobody is given, and so in registers.
    var walk = JSONValidator(text)
    guard walk.tokenCount > 0 else { throw JSONFault(.unexpectedEnd, at: walk.byteCount) }
    walk.leastBeforeToken = walk.base[walk.byteCount - 1]
    var byte = text.character(0)
    walk.next = 1
    while true {
      // A value begins with the byte.
      switch byte {
      case UInt8(ascii: "\""): break
      case UInt8(ascii: "{"):
        walk.push(closer: objectEnd)
        if try walk.peek() != objectEnd {
          byte = try walk.takeMember()
          continue
        }
        _ = try walk.take()
        walk.pop()
      case UInt8(ascii: "["):
        walk.push(closer: arrayEnd)
        byte = try walk.take()
        if byte != arrayEnd { continue }
        walk.pop()
      case UInt8(ascii: "-"), 0x30...0x39: try validateNumber(text, walk.next - 1)
      case UInt8(ascii: "t"): try validateLiteral("true", text, walk.next - 1)
      case UInt8(ascii: "f"): try validateLiteral("false", text, walk.next - 1)
      case UInt8(ascii: "n"): try validateLiteral("null", text, walk.next - 1)
      default: throw walk.unexpected(walk.next - 1)
      }
      // It ends, and with it perhaps what is around it.
      while true {
        if walk.depth == 0, walk.next == walk.tokenCount { return walk }
        byte = try walk.take()
        if byte == UInt8(ascii: ",") { break }
        guard byte == walk.closer else { throw walk.unexpected(walk.next - 1) }
        walk.pop()
      }
      switch walk.closer {
      case objectEnd: byte = try walk.takeMember()
      case arrayEnd: byte = try walk.take()
      default: throw walk.unexpected(walk.next - 1)
      }
    }
  }

  private init(_ text: JSONText) {
    base = text.bytes.base
    byteCount = text.bytes.count
    offsets = text.offsets
    tokenCount = text.offsetCount
    closings = text.closings
  }

  private func unexpected(_ token: Int) -> JSONFault {
    JSONFault(.unexpectedCharacter, at: Int(offsets[token]))
  }

  /// The first byte of the next token.
  @inline(__always)
  private func peek() throws(JSONFault) -> UInt8 {
    guard next < tokenCount else { throw JSONFault(.unexpectedEnd, at: byteCount) }
    return base[Int(offsets[next])]
  }

  /// The first byte of the next token, which is not the first.
  @inline(__always)
  private mutating func take() throws(JSONFault) -> UInt8 {
    guard next < tokenCount else { throw JSONFault(.unexpectedEnd, at: byteCount) }
    return takeKnown()
  }

  @inline(__always)
  private mutating func takeKnown() -> UInt8 {
    let offset = Int(offsets[next])
    next += 1
    leastBeforeToken = min(leastBeforeToken, base[offset - 1])
    return base[offset]
  }

  /// Takes a member's name and its colon.
  ///
  /// - Returns: the first byte of its value.
  @inline(__always)
  private mutating func takeMember() throws(JSONFault) -> UInt8 {
    // One look ahead for all three.
    guard next + 3 <= tokenCount else { throw faultInMember(at: next) }
    let name = takeKnown()
    let colon = takeKnown()
    guard name == UInt8(ascii: "\""), colon == UInt8(ascii: ":") else { throw faultInMember(at: next - 2) }
    return takeKnown()
  }

  /// What is wrong with a member that has no colon or no value, or no string for its name.
  private func faultInMember(at first: Int) -> JSONFault {
    for (token, byte) in zip(first..<tokenCount, [UInt8(ascii: "\""), UInt8(ascii: ":")])
    where base[Int(offsets[token])] != byte {
      return unexpected(token)
    }
    return JSONFault(.unexpectedEnd, at: byteCount)
  }

  @inline(__always)
  private mutating func push(closer: UInt8) {
    closings[next - 1] = open
    open = UInt32(truncatingIfNeeded: next - 1)
    self.closer = closer
    depth += 1
    deepest = max(deepest, depth)
  }

  @inline(__always)
  private mutating func pop() {
    let closed = Int(open)
    open = closings[closed]
    closings[closed] = UInt32(truncatingIfNeeded: next - 1)
    depth -= 1
    // In ASCII a bracket is closed by the second character after it.
    closer = depth > 0 ? base[Int(offsets[Int(open)])] + 2 : JSONValidator.none
  }

  // MARK: Scalars

  private static func validateLiteral(
    _ literal: StaticString,
    _ text: JSONText,
    _ token: Int
  ) throws(JSONFault) {
    let start = Int(text.offsets[token])
    guard ByteSpan(text.bytes.base + start, text.endOffset(token) - start).matches(literal) else {
      throw JSONFault(.invalidLiteral, at: start)
    }
  }

  /// `-? (0 | [1-9][0-9]*) (\. [0-9]+)? ([eE] [+-]? [0-9]+)?`
  private static func validateNumber(_ text: JSONText, _ token: Int) throws(JSONFault) {
    let start = Int(text.offsets[token])
    let end = text.endOffset(token)
    let base = text.bytes.base
    var at = start
    func digits() -> Int {
      let first = at
      while at < end, base[at] &- 0x30 < 10 { at += 1 }
      return at - first
    }
    if base[at] == UInt8(ascii: "-") { at += 1 }
    let startsWithZero = at < end && base[at] == UInt8(ascii: "0")
    let integerDigits = digits()
    var isValid = integerDigits > 0 && !(startsWithZero && integerDigits > 1)
    if at < end, base[at] == UInt8(ascii: ".") {
      at += 1
      if digits() == 0 { isValid = false }
    }
    if at < end, base[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < end, base[at] == UInt8(ascii: "+") || base[at] == UInt8(ascii: "-") { at += 1 }
      if digits() == 0 { isValid = false }
    }
    guard isValid, at == end else { throw JSONFault(.invalidNumber, at: start) }
  }

  private static func validateEscapes(_ text: JSONText) throws(JSONFault) {
    for token in 0..<text.offsetCount where text.character(token) == UInt8(ascii: "\"") {
      try validateEscapes(text, token)
    }
  }

  private static func validateEscapes(_ text: JSONText, _ token: Int) throws(JSONFault) {
    let string = text.rawString(token)
    let start = Int(text.offsets[token]) + 1
    var at = 0
    while let found = memchr(string.base + at, Int32(UInt8(ascii: "\\")), string.count - at) {
      at = string.base.distance(to: found.assumingMemoryBound(to: UInt8.self)) + 1
      guard at < string.count else { throw JSONFault(.invalidEscape, at: start + at) }
      switch string[at] {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
        UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
        at += 1
      case UInt8(ascii: "u"):
        guard JSONString.codeUnit(string, at + 1) != nil else {
          throw JSONFault(.invalidEscape, at: start + at)
        }
        at += 5
      default: throw JSONFault(.invalidEscape, at: start + at)
      }
    }
  }
}
