/// A copy of bytes at a fixed address, for calls that take pointers; nil stays nil.
package struct OwnedBytes: ~Copyable {
  @usableFromInline let storage: UnsafeMutableRawBufferPointer?

  /// - Parameter count: the number of bytes to use, from the first.
  @inlinable
  package init(_ bytes: [UInt8]?, first count: Int = .max) {
    guard let bytes = bytes?.prefix(count) else {
      storage = nil
      return
    }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    copy.copyBytes(from: bytes)
    storage = copy
  }

  @inlinable
  deinit { storage?.deallocate() }

  /// Valid while this value is.
  @inlinable package var bytes: UnsafeRawBufferPointer? { storage.map { UnsafeRawBufferPointer($0) } }
}
