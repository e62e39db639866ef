/// Counts the bytes of a text instead of writing it.
struct ByteCounter: ByteSink {
  private(set) var count = 0

  mutating func append(_ byte: UInt8) { count += 1 }
  mutating func append(_ bytes: ByteSpan) { count += bytes.count }
  mutating func append(_ text: StaticString) { count += text.utf8CodeUnitCount }
  mutating func append(quoted text: ByteSpan) { count += JSONString.quotedCount(text) }
  mutating func append(quoted text: ByteSpan, needsEscapes: Bool) {
    count += needsEscapes ? JSONString.quotedCount(text) : text.count + 2
  }
  mutating func append(decimal value: Int) { count += (value < 0 ? 1 : 0) + ChangesetHead.digits(value) }
}
