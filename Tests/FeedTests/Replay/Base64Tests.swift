import Testing

@testable import Feed

@Suite struct Base64Tests {
  private func decoded(_ text: String) -> [UInt8]? {
    let arena = ScratchArena()
    return Array(text.utf8).withUnsafeBytes { bytes in
      Base64.decoded(ByteSpan(bytes), arena: arena).map { Array($0.buffer) }
    }
  }

  /// Those of RFC 4648, section 10, and all digits.
  @Test(arguments: [
    ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
    ("Zm9vYmFy", "foobar"),
  ])
  func `the RFC's examples are decoded`(text: String, expected: String) {
    #expect(decoded(text) == Array(expected.utf8))
  }

  @Test func `every digit has its value`() {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for (value, digit) in digits.enumerated() {
      #expect(decoded("AAA\(digit)") == [0, 0, UInt8(value)])
      #expect(decoded("\(digit)///") == [UInt8(value) << 2 | 3, 0xFF, 0xFF])
    }
  }

  @Test(arguments: [
    "Z", "Zg", "Zg=", "Zg===", "=", "====", "Z===", "Zm9v=", "Zg==Zg==", "Zm=v", "Zh==", "Zm9=", "Zm9v\n",
    "Zm 9",
    "Zm9-", "Zm9_", "é==",
  ])
  func `what is no Base64, or not the only spelling of its bytes, is refused`(text: String) {
    #expect(decoded(text) == nil)
  }
}
