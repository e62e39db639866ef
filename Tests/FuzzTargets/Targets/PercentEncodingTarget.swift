import Oracle

@testable import HTTP

extension FuzzTarget {
  /// Any bytes.
  ///
  /// - Decoding reverses encoding.
  /// - The result equals that of a plain decoder.
  static let percentEncoding = FuzzTarget(
    "percent-encoding",
    tokens: ["%41", "%c3%a9", "%C3%A9", "%00", "%2F", "%25", "%", "%zz", "%f0%9f%98%80", "%ed%a0%80", "+"]
  ) { input throws(FuzzFailure) in
    let text = input.text
    let encoded = PercentEncoding.encode(text)
    try expect(
      encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") },
      "encoded, \(text) has what must not stand in a URL: \(encoded)"
    )
    guard let decoded = PercentEncoding.decode(encoded) else {
      throw FuzzFailure("\(encoded), which is encoded, does not decode")
    }
    try expect(
      Array(decoded.utf8) == Array(text.utf8),
      "\(encoded) decodes to \(decoded), encoded was \(text)"
    )
    let expected = plainlyDecoded(Array(text.utf8))
    try expect(
      PercentEncoding.decode(text).map { Array($0.utf8) } == expected,
      "\(text) does not decode to \(expected?.text ?? "an error")"
    )
  }

  private static func plainlyDecoded(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        let digits = rest.prefix(2)
        let isHexadecimal =
          digits.count == 2 && digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
        guard isHexadecimal, let value = UInt8(Array(digits).text, radix: 16) else { return nil }
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return OracleUTF8.isValid(bytes) ? bytes : nil
  }
}
