import Feed

extension [UInt8] {
  /// Calls the body with a copy of the bytes of exact size, so that an address sanitizer detects reads beyond the end.
  func withOwnSpan<Result, Failure: Error>(
    _ body: (ByteSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: self)
    return try body(ByteSpan(UnsafeRawBufferPointer(copy)))
  }

  /// The lines of the input.
  var lines: [[UInt8]] {
    split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
  }

  var text: String { String(decoding: self, as: UTF8.self) }
}
