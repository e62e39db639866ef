import Glibc

/// Steps through JSON that is known to be valid and without white space, as stored data is.
struct JSONScanner {
  let text: ByteSpan

  /// The offset after the string whose opening quote is at `start`.
  @inline(__always)
  func endOfString(_ start: Int) -> Int {
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

  /// The offset after the value that begins at `start`.
  func endOfValue(_ start: Int) -> Int {
    switch text[start] {
    case UInt8(ascii: "\""): return endOfString(start)
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
        case UInt8(ascii: "\""): at = endOfString(at)
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

  /// A member of an object: what is between the name's quotes, as spelled, and the value.
  struct Member {
    var name: ByteSpan
    var value: ByteSpan
    /// The name with its escapes resolved, for comparing.
    var decodedName: ByteSpan
    /// For the user: the other side's member of the same name, or -1.
    var match: Int32 = -1
  }

  /// Appends the members of the object that is the whole text; names with escapes are resolved once,
  /// into the arena.
  func appendMembers(to members: inout [Member], arena: ScratchArena) {
    var at = 1
    while text[at] != UInt8(ascii: "}") {
      let nameEnd = endOfString(at)
      let valueEnd = endOfValue(nameEnd + 1)
      let name = ByteSpan(text.base + at + 1, nameEnd - at - 2)
      members.append(
        Member(
          name: name,
          value: ByteSpan(text.base + nameEnd + 1, valueEnd - nameEnd - 1),
          decodedName: JSONScanner.decoded(name, arena)
        )
      )
      at = text[valueEnd] == UInt8(ascii: ",") ? valueEnd + 1 : valueEnd
    }
  }

  private static func decoded(_ name: ByteSpan, _ arena: ScratchArena) -> ByteSpan {
    guard name.contains(UInt8(ascii: "\\")) else { return name }
    let copy = arena.allocate(name.count)
    return ByteSpan(UnsafePointer(copy), JSONString.unescape(name, into: copy))
  }
}
