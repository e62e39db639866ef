import Testing

@testable import Feed

@Suite struct JSONStringTests {
  /// The protocol's rule: two quotes, and required escapes.
  private func quoted(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = [0x22]
    for byte in bytes {
      switch byte {
      case 0x22, 0x5C: text += [0x5C, byte]
      case 0x08: text += Array(#"\b"#.utf8)
      case 0x09: text += Array(#"\t"#.utf8)
      case 0x0A: text += Array(#"\n"#.utf8)
      case 0x0C: text += Array(#"\f"#.utf8)
      case 0x0D: text += Array(#"\r"#.utf8)
      case 0..<0x20:
        text += Array((byte < 16 ? #"\u000"# : #"\u00"#).utf8) + Array(String(byte, radix: 16).utf8)
      default: text.append(byte)
      }
    }
    return text + [0x22]
  }

  @Test func `every byte is found wherever it stands in a string of any length`() {
    let writer = ByteWriter()
    for length in 0...27 {
      let plain = (0..<length).map { UInt8(0x41 + $0) }
      for position in plain.indices {
        for byte in UInt8.min...UInt8.max {
          var bytes = plain
          bytes[position] = byte
          writer.removeAll()
          bytes.withUnsafeBytes { writer.append(quoted: ByteSpan($0)) }
          let count = bytes.withUnsafeBytes { JSONString.quotedCount(ByteSpan($0)) }
          let expected = quoted(bytes)
          guard Array(writer.written.buffer) == expected, count == expected.count else {
            Issue.record("byte \(byte) at \(position) of \(length): \(writer.written.text), \(count)")
            return
          }
        }
      }
    }
  }

  @Test func `a string of nothing is two quotes`() {
    let writer = ByteWriter()
    writer.append(quoted: .empty)
    #expect(writer.written.text == "\"\"")
    #expect(JSONString.quotedCount(.empty) == 2)
  }
}
