extension JSONText {
  /// A value: its first token, and the token after it.
  package typealias Field = (first: Int, end: Int)

  /// Visits the members of the object that starts at a token: the name with its escapes resolved, and the
  /// value.
  @inline(__always)
  func forEachMember<Failure: Error>(
    of object: Int,
    arena: ScratchArena,
    _ body: (ByteSpan, Field) throws(Failure) -> Void
  ) throws(Failure) {
    var token = object + 1
    while character(token) != UInt8(ascii: "}") {
      let end = tokenAfterValue(token + 2)
      try body(string(token, arena: arena), (token + 2, end))
      token = character(end) == UInt8(ascii: ",") ? end + 1 : end
    }
  }

  /// Visits the elements of the array that starts at a token.
  @inline(__always)
  package func forEachElement<Failure: Error>(
    of array: Int,
    _ body: (Field) throws(Failure) -> Void
  ) throws(Failure) {
    var token = array + 1
    while character(token) != UInt8(ascii: "]") {
      let end = tokenAfterValue(token)
      try body((token, end))
      token = character(end) == UInt8(ascii: ",") ? end + 1 : end
    }
  }
}
