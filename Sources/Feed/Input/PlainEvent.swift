/// An event without lists, spelled without white space and without escapes where they matter: its text is read once, and has no
/// index of tokens. A value is named by where it starts and ends in the text.
struct PlainEvent: EventText {
  private let text: ByteSpan

  /// - Parameter text: one that was read.
  @inline(__always)
  init(_ text: ByteSpan) { self.text = text }

  /// Finds an event's fields and checks the whole text.
  ///
  /// - Parameter fields: what is found; to be used only if there is a result.
  /// - Returns: how deep it is nested; 0 if the text is something else, which says nothing of whether it is an event.
  @inline(never)
  static func read(_ text: ByteSpan, _ fields: inout EventFields) -> Int {
    guard JSONSinglePass.byteCounts.contains(text.count) else { return 0 }
    // What the walk changes stays in a variable whose address nobody is given, and so in registers.
    guard var cursor = JSONCursor(text), cursor.byte == UInt8(ascii: "{") else { return 0 }
    var depth = 1
    while true {
      // Behind the bracket that opens, or a comma.
      cursor.at &+= 1
      let name = cursor.at &+ 1
      guard cursor.byte == UInt8(ascii: "\""), cursor.passString(), cursor.byte == UInt8(ascii: ":") else {
        return 0
      }
      let field = EventFields.Name(ByteSpan(cursor.base + name, cursor.at &- 1 &- name))
      cursor.at &+= 1
      let start = cursor.at
      switch cursor.byte {
      case UInt8(ascii: "\""): guard cursor.passString() else { return 0 }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let levels = cursor.passBrackets(mayHaveEscapes: field == .data)
        // The event's own bracket is still open.
        guard levels > 0, cursor.at < cursor.count else { return 0 }
        depth = max(depth, levels &+ 1)
      default: guard cursor.passScalar() else { return 0 }
      }
      if field.isList { return 0 }
      fields.set(field, (start, cursor.at))
      if cursor.byte != UInt8(ascii: ",") { break }
    }
    guard cursor.byte == UInt8(ascii: "}") else { return 0 }
    cursor.at &+= 1
    // Names, identifiers and places are looked at as they stand.
    guard cursor.isAtEnd, !cursor.found.contains(.escapes) else { return 0 }
    return !cursor.found.contains(.nonASCII) || JSONIndexer.isUTF8(text) ? depth : 0
  }

  // MARK: EventText

  @inline(__always)
  func character(_ start: Int) -> UInt8 { text[start] }

  @inline(__always)
  func span(of value: EventFields.Value) -> ByteSpan {
    ByteSpan(text.base + value.first, value.end &- value.first)
  }

  @inline(__always)
  func string(_ value: EventFields.Value, arena: ScratchArena) -> ByteSpan {
    ByteSpan(text.base + value.first + 1, value.end &- value.first &- 2)
  }

  @inline(__always)
  func compactSpan(of value: EventFields.Value, arena: ScratchArena) -> ByteSpan { span(of: value) }

  func visitMembers(of object: Int, arena: ScratchArena, _ body: (ByteSpan, EventFields.Value) -> Void) {
    var scanner = JSONScanner(text)
    var at = object + 1
    while text[at] != UInt8(ascii: "}") {
      let colon = scanner.endOfString(at)
      let end = scanner.endOfValue(colon + 1)
      body(span(of: (at + 1, colon - 1)), (colon + 1, end))
      at = text[end] == UInt8(ascii: ",") ? end + 1 : end
    }
  }

  var tokens: JSONText { preconditionFailure("a plain event has no lists") }
}
