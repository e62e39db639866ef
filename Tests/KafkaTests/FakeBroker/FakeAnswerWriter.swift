/// Writes values in Kafka's protocol: big-endian integers, and lengths before their content.
struct FakeAnswerWriter {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
  }

  mutating func append(_ text: String) {
    append(Int16(text.utf8.count))
    bytes += Array(text.utf8)
  }

  mutating func append(bytes content: [UInt8]) {
    append(Int32(content.count))
    bytes += content
  }

  mutating func append<Element>(_ elements: [Element], _ write: (inout Self, Element) -> Void) {
    append(Int32(elements.count))
    for element in elements { write(&self, element) }
  }
}
