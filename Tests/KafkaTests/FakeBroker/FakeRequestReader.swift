/// Reads a request in Kafka's protocol. It trusts librdkafka to send complete ones.
struct FakeRequestReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  mutating func integer<Integer: FixedWidthInteger>() -> Integer {
    let bytes = rest.prefix(Integer.bitWidth / 8)
    rest = rest.dropFirst(bytes.count)
    return bytes.reduce(0) { $0 << 8 | Integer($1) }
  }

  mutating func text() -> String {
    let length = Int(integer() as Int16)
    defer { rest = rest.dropFirst(length) }
    return String(decoding: rest.prefix(length), as: UTF8.self)
  }
}
