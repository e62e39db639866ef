/// Indexes a text and checks all of it in one pass, as most records are short and have few tokens.
///
/// It only ever accepts: a text that is not JSON, or that it has no rule for, is left to simdjson and `JSONValidator`, which say
/// what is wrong. What it finds in a text that it accepts is what those would find.
struct JSONSinglePass {
  private var cursor: JSONCursor
  private let offsets: UnsafeMutablePointer<UInt32>
  private let closings: UnsafeMutablePointer<UInt32>
  /// The innermost open bracket's token, if `openCount` is not 0; what else stands in `closings` meanwhile, `JSONValidator` says.
  private var open: UInt32 = 0
  private var openCount = 0

  private(set) var tokenCount = 0
  /// The most brackets that were open at a time.
  private(set) var depth = 0
  /// Whether there is white space between tokens or at the end.
  private(set) var hasSpaces: Bool
  /// Whether there are escapes in strings.
  var hasEscapes: Bool { cursor.found.contains(.escapes) }

  /// How long a text may be that is read so. Longer ones are faster with simdjson.
  static let byteCounts = JSONCursor.blockBytes...(1 << 16)

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
    // What the walk changes stays in a variable whose address nobody is given, and so in registers.
    guard var walk = JSONSinglePass(text, offsets, closings), walk.run(), walk.end(text) else {
      return nil
    }
    return walk
  }

  /// Nil if the text's last byte but white space is no bracket that closes.
  @inline(__always)
  private init?(
    _ text: ByteSpan,
    _ offsets: UnsafeMutablePointer<UInt32>,
    _ closings: UnsafeMutablePointer<UInt32>
  ) {
    guard let cursor = JSONCursor(text) else { return nil }
    self.cursor = cursor
    self.offsets = offsets
    self.closings = closings
    hasSpaces = cursor.count < text.count
  }

  /// Whether the text ends here, and is UTF-8.
  @inline(__always)
  private func end(_ text: ByteSpan) -> Bool {
    guard cursor.isAtEnd, !cursor.found.contains(.nonASCII) || JSONIndexer.isUTF8(text) else { return false }
    offsets[tokenCount] = UInt32(truncatingIfNeeded: text.count)
    return true
  }

  /// Takes an object or an array with all that is in it.
  ///
  /// - Returns: whether it was one.
  @inline(__always)
  private mutating func run() -> Bool {
    passSpaces()
    guard cursor.byte == UInt8(ascii: "{") || cursor.byte == UInt8(ascii: "[") else { return false }
    var isInObject = false
    while true {
      // In an object a name begins here, else a value.
      var isBeforeValue = true
      while isInObject {
        guard cursor.byte == JSONSinglePass.quote, passString() else { return false }
        if cursor.byte != UInt8(ascii: ":") {
          passSpaces()
          guard cursor.byte == UInt8(ascii: ":") else { return false }
        }
        takeToken()
        if cursor.byte != JSONSinglePass.quote {
          passSpaces()
          break
        }
        // Most values are strings, with another member behind them.
        guard passString() else { return false }
        if cursor.byte != UInt8(ascii: ",") || cursor.base[cursor.at &+ 1] != JSONSinglePass.quote {
          isBeforeValue = false
          break
        }
        takeToken()
      }
      if isBeforeValue {
        let byte = cursor.byte
        if byte == UInt8(ascii: "{") {
          push()
          passSpaces()
          isInObject = true
          if cursor.byte != JSONSinglePass.objectEnd { continue }
          takeToken()
          isInObject = pop()
        } else if byte == UInt8(ascii: "[") {
          push()
          passSpaces()
          isInObject = false
          if cursor.byte != JSONSinglePass.arrayEnd { continue }
          takeToken()
          isInObject = pop()
        } else {
          guard passScalar() else { return false }
        }
      }
      // It ends, and with it perhaps what is around it.
      while true {
        if openCount == 0 { return true }
        // No bracket may have been the last: others are still open.
        guard cursor.at < cursor.count else { return false }
        passSpaces()
        if cursor.byte == UInt8(ascii: ",") { break }
        guard cursor.byte == (isInObject ? JSONSinglePass.objectEnd : JSONSinglePass.arrayEnd) else {
          return false
        }
        takeToken()
        isInObject = pop()
      }
      takeToken()
      passSpaces()
    }
  }

  /// Notes that a token begins here.
  @inline(__always)
  private mutating func note() {
    offsets[tokenCount] = UInt32(truncatingIfNeeded: cursor.at)
    tokenCount &+= 1
  }

  /// Notes that a token begins here, and takes its first byte.
  @inline(__always)
  private mutating func takeToken() {
    note()
    cursor.at &+= 1
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
    return openCount > 0 && cursor.base[Int(offsets[Int(open)])] == UInt8(ascii: "{")
  }

  // MARK: Values

  @inline(__always)
  private mutating func passString() -> Bool {
    note()
    return cursor.passString()
  }

  /// Takes a scalar.
  @inline(__always)
  private mutating func passScalar() -> Bool {
    note()
    return cursor.byte == JSONSinglePass.quote ? cursor.passString() : cursor.passScalar()
  }

  /// Takes white space, if there is any. Only where the text does not end.
  @inline(__always)
  private mutating func passSpaces() {
    if cursor.passSpaces() { hasSpaces = true }
  }
}
