internal import CTextMarks

/// Indexes a JSON text and checks all of it against the grammar of RFC 8259, in one pass.
///
/// No byte beyond the end is read: the text has at least 64 bytes, and its last byte is a closing bracket.
/// Any other byte is not the last, so the next one may be read; after a closing bracket the end is checked.
/// Strings are read by words of marks, one bit for each of 64 bytes, which lie within the text.
///
/// The position of the closing bracket is not known yet, so its slot holds the enclosing bracket meanwhile:
/// nesting costs neither stack nor memory.
struct JSONPass {
  private let base: UnsafePointer<UInt8>
  /// The number of readable bytes; at least `leastLimit`, the last of which is a closing bracket.
  private let limit: Int
  /// The bytes of the text without white space at its end.
  private let count: Int
  /// The next byte.
  private var at = 0
  /// The stops from `at` on. At the start of a token, earlier ones were removed.
  private var marks: Marks

  private let offsets: UnsafeMutablePointer<UInt32>
  private let closings: UnsafeMutablePointer<UInt32>
  /// The innermost open bracket's token, if `openCount` is not 0.
  private var open: UInt32 = 0
  private var openCount = 0

  private(set) var tokenCount = 0
  /// The maximum number of open brackets.
  private(set) var depth = 0
  /// Whether there is white space between tokens or at the end.
  private(set) var hasSpaces: Bool
  var found: Findings { marks.found }

  /// Whether the text has characters other than ASCII, escapes or white space.
  struct Findings: OptionSet {
    let rawValue: UInt64
    static let nonASCII = Findings(rawValue: 1)
    static let escapes = Findings(rawValue: 2)
    static let invalidEscapes = Findings(rawValue: 4)
  }

  static let leastLimit = 64
  private static let quote = UInt8(ascii: "\"")
  private static let objectEnd = UInt8(ascii: "}")
  private static let arrayEnd = UInt8(ascii: "]")

  /// Reads a text.
  ///
  /// - Parameters:
  ///   - base: the bytes of the text, and more up to `limit`.
  ///   - limit: at least `leastLimit`; the last byte before it is a closing bracket.
  ///   - count: the bytes of the text without white space at its end.
  ///   - hasSpaces: whether there is white space at the end.
  ///   - offsets, closings: memory for one number more than there are readable bytes.
  /// - Returns: the findings, and whether the text fits the grammar, except for escapes.
  static func read(
    _ base: UnsafePointer<UInt8>,
    limit: Int,
    count: Int,
    hasSpaces: Bool,
    offsets: UnsafeMutablePointer<UInt32>,
    closings: UnsafeMutablePointer<UInt32>
  ) -> (pass: JSONPass, isComplete: Bool) {
    // The pass's state stays in a variable whose address is not taken, and so in registers.
    var pass = JSONPass(base, limit, count, hasSpaces, offsets, closings)
    let isComplete = pass.run() && pass.at == pass.count
    return (pass, isComplete)
  }

  @inline(__always)
  private init(
    _ base: UnsafePointer<UInt8>,
    _ limit: Int,
    _ count: Int,
    _ hasSpaces: Bool,
    _ offsets: UnsafeMutablePointer<UInt32>,
    _ closings: UnsafeMutablePointer<UInt32>
  ) {
    self.base = base
    self.limit = limit
    self.count = count
    self.offsets = offsets
    self.closings = closings
    self.hasSpaces = hasSpaces
    marks = Marks(base, limit)
  }

  /// The current byte.
  @inline(__always)
  private var byte: UInt8 { base[at] }

  /// Reads a value with its contents.
  ///
  /// - Returns: whether it is a value; if not, `at` is the offset of the fault.
  @inline(__always)
  private mutating func run() -> Bool {
    passSpaces()
    var isInObject = false
    while true {
      // In an object a name begins here, otherwise a value.
      var isBeforeValue = true
      while isInObject {
        guard byte == JSONPass.quote, passString() else { return false }
        if byte != UInt8(ascii: ":") {
          passSpaces()
          guard byte == UInt8(ascii: ":") else { return false }
        }
        takeToken()
        if byte != JSONPass.quote {
          passSpaces()
          break
        }
        // Most values are strings, followed by another member.
        guard passString() else { return false }
        if byte != UInt8(ascii: ",") || base[at &+ 1] != JSONPass.quote {
          isBeforeValue = false
          break
        }
        takeToken()
      }
      if isBeforeValue {
        let byte = byte
        if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
          push()
          passSpaces()
          isInObject = byte == UInt8(ascii: "{")
          if self.byte != (isInObject ? JSONPass.objectEnd : JSONPass.arrayEnd) { continue }
          takeToken()
          isInObject = pop()
        } else {
          guard passScalar() else { return false }
        }
      }
      // The value ends, and with it perhaps its containers.
      while true {
        if openCount == 0 {
          if at < count { passSpaces() }
          return true
        }
        // This bracket cannot be the last byte: others are still open.
        guard at < limit else { return false }
        passSpaces()
        if byte == UInt8(ascii: ",") { break }
        guard byte == (isInObject ? JSONPass.objectEnd : JSONPass.arrayEnd) else { return false }
        takeToken()
        isInObject = pop()
      }
      takeToken()
      passSpaces()
    }
  }

  // MARK: Tokens

  /// Records the start of a token.
  @inline(__always)
  private mutating func markToken() {
    offsets[tokenCount] = UInt32(truncatingIfNeeded: at)
    tokenCount &+= 1
  }

  /// Records the start of a token, and reads its first byte.
  @inline(__always)
  private mutating func takeToken() {
    markToken()
    at &+= 1
  }

  @inline(__always)
  private mutating func push() {
    closings[tokenCount] = open
    open = UInt32(truncatingIfNeeded: tokenCount)
    openCount &+= 1
    depth = max(depth, openCount)
    takeToken()
  }

  /// - Returns: whether the enclosing bracket is an object's.
  @inline(__always)
  private mutating func pop() -> Bool {
    let closed = Int(open)
    open = closings[closed]
    closings[closed] = UInt32(truncatingIfNeeded: tokenCount &- 1)
    openCount &-= 1
    return openCount > 0 && base[Int(offsets[Int(open)])] == UInt8(ascii: "{")
  }

  /// Skips white space. Only before the last byte.
  @inline(__always)
  private mutating func passSpaces() {
    guard byte <= 0x20 else { return }
    // The last byte is not white space.
    while JSONText.isSpace(byte) { at &+= 1 }
    hasSpaces = true
    marks.remove(before: at)
  }

  // MARK: Strings

  /// Reads the string that begins here.
  @inline(__always)
  private mutating func passString() -> Bool {
    markToken()
    // The opening quote, and then the next stop.
    guard marks.takeNext() != nil, let stop = marks.takeNext() else { return false }
    at = stop
    if byte == JSONPass.quote {
      at &+= 1
      return true
    }
    let rest = JSONPass.endOfString(stop, marks)
    guard rest.at > 0 else { return false }
    (at, marks) = rest
    return true
  }

  /// Continues a string after a stop that does not end it. By value, so that the pass stays in registers.
  ///
  /// - Returns: the offset after the closing quote, with the marks from there on; 0 if the string is invalid.
  @inline(never)
  private static func endOfString(_ start: Int, _ before: Marks) -> (at: Int, marks: Marks) {
    var (at, marks) = (start, before)
    while marks.base[at] == UInt8(ascii: "\\") {
      marks.found.insert(.escapes)
      // A backslash is not the last byte.
      if let count = JSONString.escapeCount(ByteSpan(marks.base, marks.limit), at) {
        at += count
      } else {
        marks.found.insert(.invalidEscapes)
        at += 1
      }
      marks.remove(before: at)
      guard let stop = marks.takeNext() else { return (0, marks) }
      at = stop
    }
    return (marks.base[at] == quote ? at + 1 : 0, marks)
  }

  /// The positions of the special bytes in strings: quotes, backslashes and control characters.
  private struct Marks {
    let base: UnsafePointer<UInt8>
    let limit: Int
    /// The offset of the 64 bytes that `stops` describes.
    private var start = 0
    /// One bit for each of them, without earlier and removed ones.
    private var stops: UInt64 = 0
    var found: Findings = []

    @inline(__always)
    init(_ base: UnsafePointer<UInt8>, _ limit: Int) {
      self.base = base
      self.limit = limit
      read()
    }

    @inline(__always)
    private mutating func read() {
      // At the end, the last 64 bytes, without those before this offset.
      let place = min(start, limit &- JSONPass.leastLimit)
      let marks = feedstore_mark64(base + place)
      stops = marks.stops &>> UInt64(truncatingIfNeeded: start &- place)
      if marks.not_ascii != 0 { found.insert(.nonASCII) }
    }

    /// The offset of the next stop.
    @inline(__always)
    mutating func takeNext() -> Int? {
      while stops == 0 {
        start &+= 64
        guard start < limit else { return nil }
        read()
      }
      defer { stops &= stops &- 1 }
      return start &+ stops.trailingZeroBitCount
    }

    @inline(__always)
    mutating func remove(before at: Int) {
      while start &+ 64 <= at {
        start &+= 64
        stops = 0
        if start < limit { read() }
      }
      stops &= .max &<< UInt64(truncatingIfNeeded: at &- start)
    }
  }

  // MARK: Numbers and literals

  /// Reads a scalar.
  @inline(__always)
  private mutating func passScalar() -> Bool {
    if byte == JSONPass.quote { return passString() }
    markToken()
    let end = JSONPass.endOfScalar(base, at, limit)
    if end > 0 { at = end }
    return end > 0
  }

  /// - Returns: the offset after the number or literal that begins at `start`, or 0 if it is invalid. Neither
  ///   contains a bracket, so a byte follows it.
  @inline(never)
  private static func endOfScalar(_ base: UnsafePointer<UInt8>, _ start: Int, _ limit: Int) -> Int {
    var at = start
    switch base[at] {
    case UInt8(ascii: "t"): return endOfLiteral("true", base, at, limit)
    case UInt8(ascii: "f"): return endOfLiteral("false", base, at, limit)
    case UInt8(ascii: "n"): return endOfLiteral("null", base, at, limit)
    case UInt8(ascii: "-"): at &+= 1
    default: break
    }
    if base[at] == UInt8(ascii: "0") {
      at &+= 1
    } else {
      guard base[at] &- 0x31 < 9 else { return 0 }
      repeat { at &+= 1 } while base[at] &- 0x30 < 10
    }
    if base[at] == UInt8(ascii: ".") {
      at &+= 1
      guard base[at] &- 0x30 < 10 else { return 0 }
      while base[at] &- 0x30 < 10 { at &+= 1 }
    }
    if base[at] | 0x20 == UInt8(ascii: "e") {
      at &+= 1
      if base[at] == UInt8(ascii: "+") || base[at] == UInt8(ascii: "-") { at &+= 1 }
      guard base[at] &- 0x30 < 10 else { return 0 }
      while base[at] &- 0x30 < 10 { at &+= 1 }
    }
    return at
  }

  @inline(__always)
  private static func endOfLiteral(
    _ literal: StaticString,
    _ base: UnsafePointer<UInt8>,
    _ start: Int,
    _ limit: Int
  ) -> Int {
    let end = start &+ literal.utf8CodeUnitCount
    // At least a bracket follows it.
    guard end < limit, ByteSpan(base + start, literal.utf8CodeUnitCount).matches(literal) else { return 0 }
    return end
  }

  // MARK: Faults

  /// The fault of an invalid text outside its strings.
  func fault(in text: ByteSpan) -> JSONFault {
    if at >= count { return JSONFault(.unexpectedEnd, at: text.count) }
    guard let token = tokenCount > 0 ? Int(offsets[tokenCount - 1]) : nil else {
      return JSONFault(.unexpectedCharacter, at: at)
    }
    // A scalar ends at white space, or at a byte that may follow it.
    let endsBefore = at > token && (JSONText.isSpace(base[at - 1]) || "{}[],:".utf8.contains(byte))
    if !endsBefore {
      switch base[token] {
      case UInt8(ascii: "-"), 0x30...0x39: return JSONFault(.invalidNumber, at: token)
      case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
        return JSONFault(.invalidLiteral, at: token)
      default: break
      }
    }
    return JSONFault(.unexpectedCharacter, at: at)
  }
}
