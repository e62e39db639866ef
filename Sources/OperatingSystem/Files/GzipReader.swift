internal import CZlib
import Glibc

/// Decompresses gzip data (RFC 1952): members, one after another.
package final class GzipReader {
  /// Why data cannot be decompressed.
  package struct Fault: Error {
    package let explanation: String
  }

  private let stream: UnsafeMutablePointer<z_stream>
  private let input: UnsafeMutableRawBufferPointer
  private var isAtEndOfMember = false

  /// The first bytes of gzip files.
  package static let signature: [UInt8] = [0x1F, 0x8B]

  /// - Parameter beginning: the bytes that were already read.
  package init(_ beginning: UnsafeRawBufferPointer) {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 15: the largest window; plus 16: gzip instead of zlib format.
    let started = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(started == Z_OK, "zlib cannot start: \(started)")
    input = .allocate(byteCount: max(1 << 16, beginning.count), alignment: 16)
    input.copyMemory(from: beginning)
    offer(beginning.count)
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
    input.deallocate()
  }

  private func offer(_ count: Int) {
    stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_in = UInt32(count)
  }

  /// Decompresses the next available bytes.
  ///
  /// - Parameters:
  ///   - target: at least one byte, and less than 4 GiB.
  ///   - read: reads compressed bytes, and returns their number, like `read(2)`.
  /// - Returns: the number of bytes; 0 at the end of the last member; `read`'s result if that is negative.
  package func decompress(
    into target: UnsafeMutableRawBufferPointer,
    read: (UnsafeMutableRawBufferPointer) -> Int
  ) throws(Fault) -> Int {
    stream.pointee.next_out = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = UInt32(target.count)
    while stream.pointee.avail_out == target.count {
      if stream.pointee.avail_in == 0 {
        let count = read(input)
        if count < 0 { return count }
        guard count > 0 else {
          if isAtEndOfMember { return 0 }
          throw Fault(explanation: "the gzip data ends too early; the file is incomplete")
        }
        offer(count)
      }
      if isAtEndOfMember { inflateReset(stream) }
      let status = inflate(stream, Z_NO_FLUSH)
      isAtEndOfMember = status == Z_STREAM_END
      guard isAtEndOfMember || status == Z_OK || status == Z_BUF_ERROR else {
        let reason = stream.pointee.msg.map { String(cString: $0) } ?? "error \(status)"
        throw Fault(explanation: "the gzip data is damaged: \(reason)")
      }
    }
    return target.count - Int(stream.pointee.avail_out)
  }
}
