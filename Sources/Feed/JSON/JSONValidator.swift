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
  private let hasEscapes: Bool
  private let closings: UnsafeMutablePointer<UInt32>
  /// The token that is looked at next.
  private var next = 0
  /// The innermost open bracket's token, if `depth` is not 0.
  private var open: UInt32 = 0
  private var isInObject = false
  private var depth = 0
  /// The least byte before a token but the first, or at the end of the text.
  private var leastBeforeToken: UInt8 = .max

  /// The most brackets that were open at a time.
  private(set) var deepest = 0
  /// Whether there is white space between tokens or at the end.
  var hasSpaces: Bool { leastBeforeToken <= 0x20 }

  /// What is found out about a text.
  static func validate(_ text: JSONText) throws(JSONFault) -> JSONValidator {
    // What the walk changes stays in a variable whose address nobody is given, and so in registers.
    var walk = JSONValidator(text)
    guard walk.tokenCount > 0 else { throw JSONFault(.unexpectedEnd, at: walk.byteCount) }
    walk.leastBeforeToken = walk.base[walk.byteCount - 1]
    walk.next = 1
    var byte = text.character(0)
    while true {
      // A value begins with the byte.
      switch byte {
      case UInt8(ascii: "\""):
        if walk.hasEscapes { try validateEscapes(text, walk.next - 1) }
      case UInt8(ascii: "{"):
        walk.push(isObject: true)
        byte = try walk.take()
        if byte != UInt8(ascii: "}") {
          byte = try walk.takeName(text, byte)
          continue
        }
        walk.pop()
      case UInt8(ascii: "["):
        walk.push(isObject: false)
        byte = try walk.take()
        if byte != UInt8(ascii: "]") { continue }
        walk.pop()
      case UInt8(ascii: "-"), 0x30...0x39: try validateNumber(text, walk.next - 1)
      case UInt8(ascii: "t"): try validateLiteral("true", text, walk.next - 1)
      case UInt8(ascii: "f"): try validateLiteral("false", text, walk.next - 1)
      case UInt8(ascii: "n"): try validateLiteral("null", text, walk.next - 1)
      default: throw walk.unexpected(walk.next - 1)
      }
      // It ends, and with it perhaps what is around it.
      while true {
        if walk.depth == 0 {
          guard walk.next == walk.tokenCount else { throw walk.unexpected(walk.next) }
          return walk
        }
        byte = try walk.take()
        if byte == UInt8(ascii: ",") { break }
        guard byte == (walk.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
          throw walk.unexpected(walk.next - 1)
        }
        walk.pop()
      }
      byte = try walk.take()
      if walk.isInObject { byte = try walk.takeName(text, byte) }
    }
  }

  private init(_ text: JSONText) {
    base = text.bytes.base
    byteCount = text.bytes.count
    offsets = text.offsets
    tokenCount = text.offsetCount
    hasEscapes = text.hasEscapes
    closings = text.closings
  }

  @inline(__always)
  private func unexpected(_ token: Int) -> JSONFault {
    JSONFault(.unexpectedCharacter, at: Int(offsets[token]))
  }

  /// The first byte of the next token, which is not the first.
  @inline(__always)
  private mutating func take() throws(JSONFault) -> UInt8 {
    guard next < tokenCount else { throw JSONFault(.unexpectedEnd, at: byteCount) }
    let offset = Int(offsets[next])
    next += 1
    leastBeforeToken = min(leastBeforeToken, base[offset - 1])
    return base[offset]
  }

  /// Takes a member's name, of which the first byte was taken, and its colon.
  ///
  /// - Returns: the first byte of its value.
  @inline(__always)
  private mutating func takeName(_ text: JSONText, _ byte: UInt8) throws(JSONFault) -> UInt8 {
    guard byte == UInt8(ascii: "\"") else { throw unexpected(next - 1) }
    if hasEscapes { try JSONValidator.validateEscapes(text, next - 1) }
    guard try take() == UInt8(ascii: ":") else { throw unexpected(next - 1) }
    return try take()
  }

  @inline(__always)
  private mutating func push(isObject: Bool) {
    closings[next - 1] = open
    open = UInt32(truncatingIfNeeded: next - 1)
    isInObject = isObject
    depth += 1
    deepest = max(deepest, depth)
  }

  @inline(__always)
  private mutating func pop() {
    let closed = Int(open)
    open = closings[closed]
    closings[closed] = UInt32(truncatingIfNeeded: next - 1)
    depth -= 1
    if depth > 0 { isInObject = base[Int(offsets[Int(open)])] == UInt8(ascii: "{") }
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
