import Glibc

/// A copy of bytes that stays in its place.
package final class OwnedSpan {
  /// Lives as long as this.
  package let span: ByteSpan
  private let block: UnsafeMutablePointer<UInt8>

  package init(_ bytes: ByteSpan) {
    block = bytes.copied()
    span = ByteSpan(UnsafePointer(block), bytes.count)
  }

  deinit { free(block) }
}
