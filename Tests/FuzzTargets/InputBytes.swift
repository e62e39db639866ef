import Feed

extension [UInt8] {
  /// Calls the body with a copy of the bytes that is exactly as long, so that an address sanitizer sees what reads
  /// beyond it.
  func withOwnSpan<Result, Failure: Error>(
    _ body: (ByteSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: self)
    return try body(ByteSpan(UnsafeRawBufferPointer(copy)))
  }

  /// The lines, each a record or the like.
  var lines: [[UInt8]] {
    split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
  }

  var text: String { String(decoding: self, as: UTF8.self) }
}
