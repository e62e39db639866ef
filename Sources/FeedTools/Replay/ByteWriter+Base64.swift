import Feed

extension ByteWriter {
  /// Appends the bytes in base64 (RFC 4648) with padding.
  func append(base64 bytes: ByteSpan) {
    let alphabet = ByteSpan("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var at = 0
    while at < bytes.count {
      let available = min(3, bytes.count - at)
      var group: UInt32 = 0
      for index in 0..<3 { group = group << 8 | (index < available ? UInt32(bytes[at + index]) : 0) }
      for index in 0..<4 {
        append(index <= available ? alphabet[Int(group >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
      }
      at += 3
    }
  }
}
