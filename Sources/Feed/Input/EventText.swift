/// The text of an event whose fields were found: what the decoder reads of it. A value is named by where it starts and ends, in
/// numbers that mean something to the text alone.
protocol EventText {
  /// The first byte of the value that starts there.
  func character(_ start: Int) -> UInt8

  /// A value's bytes as they stand.
  func span(of value: EventFields.Value) -> ByteSpan

  /// A value's bytes without white space between tokens.
  func compactSpan(of value: EventFields.Value, arena: ScratchArena) -> ByteSpan

  /// A string's content with its escapes resolved.
  func string(_ value: EventFields.Value, arena: ScratchArena) -> ByteSpan

  /// Visits the members of an object, the names' escapes resolved.
  func visitMembers(of object: Int, arena: ScratchArena, _ body: (ByteSpan, EventFields.Value) -> Void)

  /// Where the values of lists are found.
  var tokens: JSONText { get }
}

extension JSONText: EventText {
  @inline(__always)
  func span(of value: EventFields.Value) -> ByteSpan { span(from: value.first, to: value.end) }

  @inline(__always)
  func compactSpan(of value: EventFields.Value, arena: ScratchArena) -> ByteSpan {
    compactSpan(from: value.first, to: value.end, arena: arena)
  }

  @inline(__always)
  func string(_ value: EventFields.Value, arena: ScratchArena) -> ByteSpan {
    string(value.first, arena: arena)
  }

  func visitMembers(of object: Int, arena: ScratchArena, _ body: (ByteSpan, EventFields.Value) -> Void) {
    forEachMember(of: object, arena: arena, body)
  }

  var tokens: JSONText { self }
}
