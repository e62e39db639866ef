internal import CSimdjson

/// A place in a JSON text, which goes on from value to value and checks what it passes.
///
/// Why no byte past the end is read: the text, without white space behind it, ends in a bracket that closes, so a byte that is
/// no such bracket is not the last. After any other byte the next one may be read without a look at where the text ends, and
/// after such a bracket that is looked at. Strings are read by words of marks, one bit for each of 64 bytes, which lie within the
/// text.
struct JSONCursor {
  let base: UnsafePointer<UInt8>
  /// Bytes of the text without white space behind it; from `blockBytes` on.
  let count: Int
  /// Where the next byte is that was not looked at.
  var at: Int
  /// Where the 64 bytes begin that `stops` is about.
  private var wordStart: Int
  /// Their bytes from `at` on that strings are not simply made of, bit 0 for the first byte. Where a token begins, those before it
  /// were taken out.
  private var stops: UInt64
  /// What was found so far.
  private(set) var found: Findings

  /// What a text has besides ASCII without escapes, up to the 64 bytes of the cursor.
  struct Findings: OptionSet {
    let rawValue: UInt64
    static let nonASCII = Findings(rawValue: 1)
    static let escapes = Findings(rawValue: 2)
    /// Escapes that may be halves of surrogate pairs.
    static let unicodeEscapes = Findings(rawValue: 4)
  }

  /// The fewest bytes that a text must have.
  static let blockBytes = 16
  private static let quote = UInt8(ascii: "\"")
  private static let objectEnd = UInt8(ascii: "}")
  private static let arrayEnd = UInt8(ascii: "]")

  /// At the beginning of a text; nil if its last byte but white space is no bracket that closes.
  @inline(__always)
  init?(_ text: ByteSpan) {
    var count = text.count
    while count > JSONCursor.blockBytes, JSONText.isSpace(text.base[count - 1]) { count -= 1 }
    let last = text.base[count - 1]
    guard last == JSONCursor.objectEnd || last == JSONCursor.arrayEnd else { return nil }
    let marks = feedstore_json_mark_at(text.base, 0, count)
    self.init(text.base, count, at: 0, wordStart: 0, stops: marks.stops, found: JSONCursor.findings(marks))
  }

  @inline(__always)
  private init(
    _ base: UnsafePointer<UInt8>,
    _ count: Int,
    at: Int,
    wordStart: Int,
    stops: UInt64,
    found: Findings
  ) {
    self.base = base
    self.count = count
    self.at = at
    self.wordStart = wordStart
    self.stops = stops
    self.found = found
  }

  /// The byte here.
  @inline(__always)
  var byte: UInt8 { base[at] }

  @inline(__always)
  var isAtEnd: Bool { at == count }

  // MARK: White space

  /// Takes white space, if there is any. Only where the text does not end.
  ///
  /// - Returns: whether there was some, or a byte that is in no JSON text.
  @inline(__always)
  mutating func passSpaces() -> Bool {
    guard byte <= 0x20 else { return false }
    // The last byte is none.
    while JSONText.isSpace(byte) { at &+= 1 }
    takeOutStops()
    return true
  }

  /// Takes out the stops before this place.
  @inline(__always)
  private mutating func takeOutStops() {
    while wordStart &+ 64 <= at {
      wordStart &+= 64
      stops = 0
      if wordStart < count { takeMarks() }
    }
    stops &= .max &<< UInt64(truncatingIfNeeded: at &- wordStart)
  }

  // MARK: Strings

  /// Takes a string, which begins here.
  @inline(__always)
  mutating func passString() -> Bool {
    // The quote that opens it, and then what is next.
    guard hasStop() else { return false }
    assert(at == wordStart + stops.trailingZeroBitCount, "a stop was not taken out")
    stops &= stops &- 1
    guard hasStop() else { return false }
    at = wordStart &+ stops.trailingZeroBitCount
    stops &= stops &- 1
    if byte == JSONCursor.quote {
      at &+= 1
      return true
    }
    let rest = JSONCursor.endOfString(base, at, count)
    guard rest.end > 0 else { return false }
    at = rest.end
    found.formUnion(rest.found)
    takeOutStops()
    return true
  }

  /// Whether there is a stop that was not taken out.
  @inline(__always)
  private mutating func hasStop() -> Bool {
    while stops == 0 {
      wordStart &+= 64
      guard wordStart < count else { return false }
      takeMarks()
    }
    return true
  }

  @inline(__always)
  private mutating func takeMarks() {
    let marks = feedstore_json_mark_at(base, wordStart, count)
    stops = marks.stops
    found.formUnion(JSONCursor.findings(marks))
  }

  @inline(__always)
  private static func findings(_ marks: feedstore_json_marks) -> Findings {
    marks.not_ascii == 0 ? [] : .nonASCII
  }

  /// Reads a string on from a stop that does not end it.
  ///
  /// - Returns: the place behind the closing quote, or 0 if the string is none.
  @inline(never)
  static func endOfString(
    _ base: UnsafePointer<UInt8>,
    _ start: Int,
    _ count: Int
  ) -> (
    end: Int, found: Findings
  ) {
    var at = start
    var found: Findings = []
    while at < count {
      let byte = base[at]
      if byte == quote { return (at + 1, found) }
      if byte == UInt8(ascii: "\\") {
        found.insert(.escapes)
        // A backslash is not the last byte.
        switch base[at + 1] {
        case quote, UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
          UInt8(ascii: "n"),
          UInt8(ascii: "r"), UInt8(ascii: "t"):
          at += 2
        case UInt8(ascii: "u"):
          guard JSONString.codeUnit(ByteSpan(base, count), at + 2) != nil else { return (0, []) }
          found.insert(.unicodeEscapes)
          at += 6
        default: return (0, [])
        }
      } else if byte < 0x20 {
        return (0, [])
      } else if at + blockBytes <= count {
        let marks = feedstore_json_mark16(base + at)
        found.formUnion(findings(marks))
        at += marks.stops == 0 ? blockBytes : marks.stops.trailingZeroBitCount
      } else {
        if byte >= 0x80 { found.insert(.nonASCII) }
        at += 1
      }
    }
    return (0, [])
  }

  // MARK: Numbers and literals

  /// Takes a number or a literal.
  @inline(__always)
  mutating func passScalar() -> Bool {
    at = JSONCursor.endOfScalar(base, at, count)
    return at > 0
  }

  /// - Returns: the place behind the number or literal that begins at `start`, or 0 if there is none. Neither has a bracket in it,
  ///   so the byte behind it is one of the text.
  @inline(never)
  static func endOfScalar(_ base: UnsafePointer<UInt8>, _ start: Int, _ count: Int) -> Int {
    var at = start
    switch base[at] {
    case UInt8(ascii: "t"): return endOfLiteral("true", base, at, count)
    case UInt8(ascii: "f"): return endOfLiteral("false", base, at, count)
    case UInt8(ascii: "n"): return endOfLiteral("null", base, at, count)
    case UInt8(ascii: "-"): at &+= 1
    default: break
    }
    if base[at] == UInt8(ascii: "0") {
      at &+= 1
    } else {
      guard base[at] &- 0x31 < 9 else { return 0 }
      repeat { at &+= 1 } while base[at] &- 0x30 < 10
    }
    guard base[at] == UInt8(ascii: ".") || base[at] | 0x20 == UInt8(ascii: "e") else { return at }
    return endOfFraction(base, at)
  }

  /// - Returns: the place behind a number that goes on with a point or an exponent at `start`, or 0 if it is none.
  private static func endOfFraction(_ base: UnsafePointer<UInt8>, _ start: Int) -> Int {
    var at = start
    if base[at] == UInt8(ascii: ".") {
      at += 1
      guard base[at] &- 0x30 < 10 else { return 0 }
      while base[at] &- 0x30 < 10 { at += 1 }
    }
    if base[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if base[at] == UInt8(ascii: "+") || base[at] == UInt8(ascii: "-") { at += 1 }
      guard base[at] &- 0x30 < 10 else { return 0 }
      while base[at] &- 0x30 < 10 { at += 1 }
    }
    return at
  }

  @inline(__always)
  private static func endOfLiteral(
    _ literal: StaticString,
    _ base: UnsafePointer<UInt8>,
    _ start: Int,
    _ count: Int
  ) -> Int {
    let end = start &+ literal.utf8CodeUnitCount
    // Behind it is a bracket at least.
    guard end < count, ByteSpan(base + start, literal.utf8CodeUnitCount).matches(literal) else { return 0 }
    return end
  }

  // MARK: Objects and arrays

  /// Takes an object or an array that begins here and has no white space between its tokens.
  ///
  /// - Parameter mayHaveEscapes: whether its escapes are nobody's business, and not found.
  /// - Returns: how deep it is nested; 0 if it is none, or has white space or escapes of surrogates, or is nested deeply.
  @inline(__always)
  mutating func passBrackets(mayHaveEscapes: Bool) -> Int {
    let end = JSONCursor.endOfBrackets(base, count, at, wordStart, stops)
    guard end.at > 0, !end.found.contains(.unicodeEscapes) else { return 0 }
    at = end.at
    wordStart = end.wordStart
    stops = end.stops
    found.formUnion(end.found.intersection(mayHaveEscapes ? .nonASCII : [.nonASCII, .escapes]))
    return Int(end.found.rawValue >> 8)
  }

  /// By value, so that the caller's cursor stays in registers.
  ///
  /// - Returns: the cursor behind it, with 0 for the place if there is none; how deep it is nested stands above what was found.
  @inline(never)
  private static func endOfBrackets(
    _ base: UnsafePointer<UInt8>,
    _ count: Int,
    _ start: Int,
    _ wordStart: Int,
    _ stops: UInt64
  ) -> (at: Int, wordStart: Int, stops: UInt64, found: Findings) {
    var cursor = JSONCursor(base, count, at: start, wordStart: wordStart, stops: stops, found: [])
    let depth = cursor.depthOfBrackets()
    return (
      depth == 0 ? 0 : cursor.at, cursor.wordStart, cursor.stops,
      Findings(rawValue: cursor.found.rawValue | UInt64(truncatingIfNeeded: depth) &<< 8)
    )
  }

  @inline(__always)
  private mutating func depthOfBrackets() -> Int {
    // One bit for each bracket that is open, the innermost last: whether it is an object's.
    var objects: UInt64 = 0
    var level = 0
    var depth = 0
    var isInObject = false
    while true {
      // In an object a name begins here, else a value.
      var isBeforeValue = true
      while isInObject {
        guard byte == JSONCursor.quote, passString(), byte == UInt8(ascii: ":") else { return 0 }
        at &+= 1
        if byte != JSONCursor.quote { break }
        // Most values are strings, with another member behind them.
        guard passString() else { return 0 }
        if byte != UInt8(ascii: ",") {
          isBeforeValue = false
          break
        }
        at &+= 1
      }
      if isBeforeValue {
        if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
          guard level < 63 else { return 0 }
          isInObject = byte == UInt8(ascii: "{")
          at &+= 1
          level &+= 1
          depth = max(depth, level)
          objects = objects &<< 1 | (isInObject ? 1 : 0)
          if byte != (isInObject ? JSONCursor.objectEnd : JSONCursor.arrayEnd) { continue }
        } else {
          guard byte == JSONCursor.quote ? passString() : passScalar() else { return 0 }
        }
      }
      // It ends, and with it perhaps what is around it.
      while byte != UInt8(ascii: ",") {
        guard byte == (isInObject ? JSONCursor.objectEnd : JSONCursor.arrayEnd) else { return 0 }
        at &+= 1
        level &-= 1
        objects &>>= 1
        isInObject = objects & 1 == 1
        if level == 0 { return depth }
        guard at < count else { return 0 }
      }
      at &+= 1
    }
  }
}
