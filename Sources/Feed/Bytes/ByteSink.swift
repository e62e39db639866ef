/// What encoded text goes to: a buffer, or a count of what the buffer would take.
///
/// Code that encodes to either cannot count other bytes than it writes.
protocol ByteSink {
  mutating func append(_ byte: UInt8)
  mutating func append(_ bytes: ByteSpan)
  mutating func append(_ text: StaticString)
  /// Appends a string in quotes, escaping only what JSON requires.
  mutating func append(quoted text: ByteSpan)
  /// The same for a string of which it is known whether it needs escapes.
  mutating func append(quoted text: ByteSpan, needsEscapes: Bool)
  mutating func append(decimal value: Int)
}

extension ByteSink {
  /// Appends an element's identifier in quotes.
  @inline(__always)
  mutating func append(idOf handle: ElementHandle, in table: ElementTable) {
    append(quoted: table.id(handle), needsEscapes: table[handle].needsEscapes)
  }
}

extension ByteWriter: ByteSink {}
