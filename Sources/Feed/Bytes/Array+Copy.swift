extension [UInt8] {
  /// The same bytes in memory of their own, for another thread.
  func copy() -> [UInt8] {
    withUnsafeBufferPointer { bytes in
      [UInt8](unsafeUninitializedCapacity: bytes.count) { target, count in
        count = target.initialize(fromContentsOf: bytes)
      }
    }
  }
}
