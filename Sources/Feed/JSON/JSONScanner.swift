import Glibc

/// Steps through JSON that is known to be valid and without white space, such as stored data.
struct JSONScanner {
  let text: ByteSpan
  /// The total number of scanned bytes; bytes scanned twice count twice.
  private(set) var scannedBytes = 0

  init(_ text: ByteSpan) { self.text = text }

  /// The offset after the string whose opening quote is at `start`.
  @inline(__always)
  mutating func endOfString(_ start: Int) -> Int {
    let end = stringEnd(start)
    scannedBytes &+= end - start
    return end
  }

  /// The offset after the value that begins at `start`.
  mutating func endOfValue(_ start: Int) -> Int {
    let end = valueEnd(start)
    scannedBytes &+= end - start
    return end
  }

  @inline(__always)
  private func stringEnd(_ start: Int) -> Int {
    var at = start + 1
    while true {
      // Eight bytes at a time up to the next quote or backslash.
      while at + 8 <= text.count {
        let skip = text.bytesBeforeQuoteOrBackslash(at)
        at += skip
        if skip < 8 { break }
      }
      let byte = text[at]
      if byte == UInt8(ascii: "\"") { return at + 1 }
      at += byte == UInt8(ascii: "\\") ? 2 : 1
    }
  }

  private func valueEnd(_ start: Int) -> Int {
    switch text[start] {
    case UInt8(ascii: "\""): return stringEnd(start)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      var depth = 0
      var at = start
      repeat {
        switch text[at] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          depth += 1
          at += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          depth -= 1
          at += 1
        case UInt8(ascii: "\""): at = stringEnd(at)
        default: at += 1
        }
      } while depth > 0
      return at
    default:
      var at = start + 1
      while at < text.count, text[at] != UInt8(ascii: ","), text[at] != UInt8(ascii: "}"),
        text[at] != UInt8(ascii: "]")
      { at += 1 }
      return at
    }
  }
}
