import Glibc
import Service
import Testing

@Suite struct ConfigurationNumberTests {
  /// The decoder reads the byte after the number, which may be any byte in memory, and some values trap.
  @Test func `a number that fits no integer may be at the end`() throws {
    for fill in 1...255 as ClosedRange<UInt8> {
      for size in stride(from: 16, through: 96, by: 8) {
        let blocks = (0..<20).compactMap { _ in malloc(size) }
        for block in blocks { memset(block, CInt(fill), size) }
        for block in blocks { free(block) }
        var document = ConfigurationDocument()
        try document.set("a=99999999999999999999")
        #expect(document.entries["a"]?.value == .number(1e20))
      }
    }
  }
}
