/// Scans librdkafka's JSON in one forward pass, without building values for skipped parts: with a thousand partitions,
/// it is a megabyte every few seconds.
///
/// It is lenient, because the text comes from this process: invalid text ends the scan, and nothing is read beyond the
/// end. Skipping nested values uses no stack; reading requested objects does.
struct StatisticsScanner {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  /// A member's name, as spelled in the text.
  struct Name {
    fileprivate let bytes: UnsafeRawBufferPointer

    static func ~= (text: StaticString, name: Name) -> Bool {
      let wanted = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
      return name.bytes.count == wanted.count && name.bytes.elementsEqual(wanted)
    }
  }

  /// - Parameter bytes: must stay valid while the scanner is used.
  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Reads an object, or skips another value.
  ///
  /// - Parameter member: called for each member; it must read the value or skip it.
  mutating func object(_ member: (inout StatisticsScanner, Name) -> Void) {
    guard next() == UInt8(ascii: "{") else { return skip() }
    position += 1
    while let byte = next() {
      switch byte {
      case UInt8(ascii: ","): position += 1
      case UInt8(ascii: "\""):
        let start = position + 1
        skipString()
        // A missing closing quote.
        guard position <= bytes.count, position > start, next() == UInt8(ascii: ":") else { return end() }
        let name = Name(bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<nameEnd(from: start)]))
        position += 1
        let before = position
        member(&self, name)
        if position == before { return end() }
      case UInt8(ascii: "}"):
        position += 1
        return
      default: return end()
      }
    }
  }

  /// Reads an integer; 0 for any other value. Overflow wraps around.
  mutating func integer() -> Int {
    guard let first = next() else { return 0 }
    let isNegative = first == UInt8(ascii: "-")
    var cursor = position + (isNegative ? 1 : 0)
    let start = cursor
    var value = 0
    while cursor < bytes.count, case let digit = Int(bytes[cursor]) - 0x30, (0...9).contains(digit) {
      value = value &* 10 &+ digit
      cursor += 1
    }
    // Skips fractions and values that are not numbers.
    skip()
    guard cursor > start else { return 0 }
    return isNegative ? 0 &- value : value
  }

  /// Skips a value.
  mutating func skip() {
    var depth = 0
    while let byte = next() {
      switch byte {
      case UInt8(ascii: "\""): skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        // The closing bracket of the enclosing value.
        if depth == 0 { return }
        depth -= 1
        position += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        if depth == 0 { return }
        position += 1
        continue
      default: skipScalar()
      }
      if depth == 0 { return }
    }
  }

  private mutating func skipScalar() {
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ":"), UInt8(ascii: "\""):
        return
      case 0x20, 0x0A, 0x0D, 0x09: return
      default: position += 1
      }
    }
  }

  /// Moves to the end of the string.
  private mutating func skipString() {
    position += 1
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return
      case UInt8(ascii: "\\"): position += 2
      default: position += 1
      }
    }
    end()
  }

  private func nameEnd(from start: Int) -> Int {
    // The closing quote, optional white space and the colon precede this position.
    var end = position - 1
    while end > start, bytes[end] != UInt8(ascii: "\"") { end -= 1 }
    return end
  }

  /// The next byte that is not white space.
  private mutating func next() -> UInt8? {
    while position < bytes.count {
      let byte = bytes[position]
      if byte > 0x20 { return byte }
      position += 1
    }
    return nil
  }

  private mutating func end() { position = bytes.count }
}
