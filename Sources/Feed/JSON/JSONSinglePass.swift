internal import CSimdjson
import Glibc

/// Indexes a text and checks all of it in one pass, as most records are short and have few tokens.
///
/// It only ever accepts: a text that is not JSON, or that it has no rule for, is left to simdjson and `JSONValidator`, which say
/// what is wrong. What it finds in a text that it accepts is what those would find.
///
/// Why no byte past the end is read: the text, without white space behind it, ends in a bracket that closes, so a byte that is
/// no such bracket is not the last. After any other byte the next one may be read without a look at where the text ends, and
/// after such a bracket that is looked at. Strings are read by blocks of 16 bytes, which lie within the text.
struct JSONSinglePass {
  private let base: UnsafePointer<UInt8>
  /// Bytes of the text without white space behind it; from `blockBytes` on.
  private let count: Int
  private let offsets: UnsafeMutablePointer<UInt32>
  private let closings: UnsafeMutablePointer<UInt32>
  /// Where the next byte is that was not looked at.
  private var at = 0
  /// The innermost open bracket's token, if `openCount` is not 0; what else stands in `closings` meanwhile, `JSONValidator` says.
  private var open: UInt32 = 0
  private var openCount = 0

  private(set) var tokenCount = 0
  /// The most brackets that were open at a time.
  private(set) var depth = 0
  /// Whether there is white space between tokens or at the end.
  private(set) var hasSpaces: Bool
  /// What is in strings.
  private var found: StringContent = []
  var hasEscapes: Bool { found.contains(.escapes) }

  /// What strings have besides unescaped ASCII.
  private struct StringContent: OptionSet {
    let rawValue: UInt8
    static let escapes = StringContent(rawValue: 1)
    static let nonASCII = StringContent(rawValue: 2)
  }

  /// How long a text may be that is read so. Longer ones are faster with simdjson.
  static let byteCounts = blockBytes...(1 << 16)
  private static let blockBytes = 16

  private static let quote = UInt8(ascii: "\"")
  private static let objectEnd = UInt8(ascii: "}")
  private static let arrayEnd = UInt8(ascii: "]")

  /// Reads an object or an array.
  ///
  /// - Parameters:
  ///   - text: of a length that is among `byteCounts`.
  ///   - offsets: memory for one number more than the text has bytes.
  ///   - closings: memory for as many numbers as the text has bytes.
  /// - Returns: nil if the text is neither, or not JSON.
  static func read(
    _ text: ByteSpan,
    offsets: UnsafeMutablePointer<UInt32>,
    closings: UnsafeMutablePointer<UInt32>
  ) -> JSONSinglePass? {
    var count = text.count
    while count > blockBytes, JSONText.isSpace(text.base[count - 1]) { count -= 1 }
    let last = text.base[count - 1]
    guard last == objectEnd || last == arrayEnd else { return nil }
    // What the walk changes stays in a variable whose address nobody is given, and so in registers.
    var walk = JSONSinglePass(text.base, count, offsets, closings, hasSpaces: count < text.count)
    guard walk.run(), walk.at == count else { return nil }
    if walk.found.contains(.nonASCII), !JSONIndexer.isUTF8(text) { return nil }
    offsets[walk.tokenCount] = UInt32(truncatingIfNeeded: text.count)
    return walk
  }

  private init(
    _ base: UnsafePointer<UInt8>,
    _ count: Int,
    _ offsets: UnsafeMutablePointer<UInt32>,
    _ closings: UnsafeMutablePointer<UInt32>,
    hasSpaces: Bool
  ) {
    self.base = base
    self.count = count
    self.offsets = offsets
    self.closings = closings
    self.hasSpaces = hasSpaces
  }

  /// - Returns: whether an object or an array was read.
  @inline(__always)
  private mutating func run() -> Bool {
    passSpaces()
    guard base[at] == UInt8(ascii: "{") || base[at] == UInt8(ascii: "[") else { return false }
    var isInObject = false
    while true {
      // In an object a name begins here, else a value.
      var isBeforeValue = true
      while isInObject {
        guard base[at] == JSONSinglePass.quote, passString() else { return false }
        if base[at] != UInt8(ascii: ":") {
          passSpaces()
          guard base[at] == UInt8(ascii: ":") else { return false }
        }
        takeToken()
        if base[at] != JSONSinglePass.quote {
          passSpaces()
          break
        }
        // Most values are strings, with another member behind them.
        guard passString() else { return false }
        if base[at] != UInt8(ascii: ",") || base[at &+ 1] != JSONSinglePass.quote {
          isBeforeValue = false
          break
        }
        takeToken()
      }
      if isBeforeValue {
        let byte = base[at]
        if byte == UInt8(ascii: "{") {
          push()
          passSpaces()
          isInObject = true
          if base[at] != JSONSinglePass.objectEnd { continue }
          takeToken()
          isInObject = pop()
        } else if byte == UInt8(ascii: "[") {
          push()
          passSpaces()
          isInObject = false
          if base[at] != JSONSinglePass.arrayEnd { continue }
          takeToken()
          isInObject = pop()
        } else {
          guard passScalar(byte) else { return false }
        }
      }
      // It ends, and with it perhaps what is around it.
      while true {
        if openCount == 0 { return true }
        // No bracket may have been the last: others are still open.
        guard at < count else { return false }
        passSpaces()
        if base[at] == UInt8(ascii: ",") { break }
        guard base[at] == (isInObject ? JSONSinglePass.objectEnd : JSONSinglePass.arrayEnd) else {
          return false
        }
        takeToken()
        isInObject = pop()
      }
      takeToken()
      passSpaces()
    }
  }

  /// Takes white space, if there is any. Only where the text does not end.
  @inline(__always)
  private mutating func passSpaces() {
    guard base[at] <= 0x20 else { return }
    hasSpaces = true
    // The last byte is none.
    while JSONText.isSpace(base[at]) { at &+= 1 }
  }

  /// Notes that a token begins here, and takes its first byte.
  @inline(__always)
  private mutating func takeToken() {
    offsets[tokenCount] = UInt32(truncatingIfNeeded: at)
    tokenCount &+= 1
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

  /// - Returns: whether the bracket around is an object's.
  @inline(__always)
  private mutating func pop() -> Bool {
    let closed = Int(open)
    open = closings[closed]
    closings[closed] = UInt32(truncatingIfNeeded: tokenCount &- 1)
    openCount &-= 1
    return openCount > 0 && base[Int(offsets[Int(open)])] == UInt8(ascii: "{")
  }

  // MARK: Scalars

  /// Takes a string.
  @inline(__always)
  private mutating func passString() -> Bool {
    takeToken()
    while true {
      let stops = JSONSinglePass.stops(base, at, count)
      if stops == 0 {
        at &+= JSONSinglePass.blockBytes
        // After the last block, which is not whole.
        guard at < count else { return false }
        continue
      }
      at &+= stops.trailingZeroBitCount
      if base[at] == JSONSinglePass.quote {
        at &+= 1
        return true
      }
      let rest = JSONSinglePass.restOfString(base, at, count)
      at = rest.end
      found.formUnion(rest.content)
      return at > 0
    }
  }

  /// Marks the bytes of a block within the text that strings are not simply made of, bit 0 for the first.
  @inline(__always)
  private static func stops(_ base: UnsafePointer<UInt8>, _ at: Int, _ count: Int) -> UInt32 {
    if at &+ blockBytes <= count { return feedstore_json_stops(base + at) }
    // The text's last block, without what is before this place.
    let start = count &- blockBytes
    return feedstore_json_stops(base + start) &>> UInt32(truncatingIfNeeded: at &- start)
  }

  /// Reads a string on from a byte that is not just one of it.
  ///
  /// - Returns: the place behind the closing quote, or 0 if the string is none.
  @inline(never)
  private static func restOfString(
    _ base: UnsafePointer<UInt8>,
    _ start: Int,
    _ count: Int
  ) -> (end: Int, content: StringContent) {
    var at = start
    var content: StringContent = []
    while at < count {
      let byte = base[at]
      if byte == quote { return (at + 1, content) }
      if byte == UInt8(ascii: "\\") {
        content.insert(.escapes)
        // A backslash is not the last byte.
        switch base[at + 1] {
        case quote, UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
          UInt8(ascii: "n"),
          UInt8(ascii: "r"), UInt8(ascii: "t"):
          at += 2
        case UInt8(ascii: "u"):
          guard JSONString.codeUnit(ByteSpan(base, count), at + 2) != nil else { return (0, content) }
          at += 6
        default: return (0, content)
        }
      } else if byte >= 0x80 {
        content.insert(.nonASCII)
        at += 1
      } else if byte < 0x20 {
        return (0, content)
      } else {
        let stops = stops(base, at, count)
        at += stops == 0 ? blockBytes : stops.trailingZeroBitCount
      }
    }
    return (0, content)
  }

  @inline(__always)
  private mutating func passScalar(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, UInt8(ascii: "-"): passNumber(byte)
    case JSONSinglePass.quote: passString()
    case UInt8(ascii: "t"): passLiteral("true")
    case UInt8(ascii: "f"): passLiteral("false")
    case UInt8(ascii: "n"): passLiteral("null")
    default: false
    }
  }

  @inline(__always)
  private mutating func passNumber(_ first: UInt8) -> Bool {
    takeToken()
    var byte = first
    if byte == UInt8(ascii: "-") { byte = takeByte() }
    if byte == UInt8(ascii: "0") {
      byte = base[at]
    } else {
      guard byte &- 0x31 < 9 else { return false }
      byte = passDigits()
    }
    guard byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") else { return true }
    at = JSONSinglePass.endOfFraction(base, at)
    return at > 0
  }

  /// The next byte, which is taken; there is one.
  @inline(__always)
  private mutating func takeByte() -> UInt8 {
    let byte = base[at]
    at &+= 1
    return byte
  }

  /// - Returns: the byte behind the digits, which is not taken.
  @inline(__always)
  private mutating func passDigits() -> UInt8 {
    var byte = base[at]
    while byte &- 0x30 < 10 {
      at &+= 1
      byte = base[at]
    }
    return byte
  }

  /// Reads a number on from its point, or its exponent.
  ///
  /// - Returns: the place behind it, or 0 if it is none. Nothing in a number is a bracket, so the byte behind it is one of the text.
  @inline(never)
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
  private mutating func passLiteral(_ literal: StaticString) -> Bool {
    let length = literal.utf8CodeUnitCount
    // Behind it is a bracket at least.
    guard at &+ length < count, ByteSpan(base + at, length).matches(literal) else { return false }
    takeToken()
    at &+= length &- 1
    return true
  }
}
