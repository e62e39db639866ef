import Glibc
import Service
import Testing

@Suite struct ConfigurationNumberTests {
  /// The decoder looks at the byte after it, which is whatever the memory held before, and some bytes stop it.
  @Test func `a number that fits no integer may stand at the end`() throws {
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
