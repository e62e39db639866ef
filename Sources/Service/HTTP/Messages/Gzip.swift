internal import CZlib

/// Compresses with zlib.
enum Gzip {
  /// Between zlib's default, 6, and its fastest: most of the gain at half of the time.
  private static let level: Int32 = 4

  /// Bytes in gzip's format (RFC 1952); nil if there were more than `limit`, or no memory.
  static func compress(_ bytes: UnsafeRawBufferPointer, upTo limit: Int) -> [UInt8]? {
    // Of a fixed address, which zlib keeps.
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    // 15: the largest window; 16 more: gzip's frame instead of zlib's. 8: the default use of memory.
    let started = deflateInit2_(
      stream,
      level,
      Z_DEFLATED,
      15 + 16,
      8,
      Z_DEFAULT_STRATEGY,
      ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size)
    )
    guard started == Z_OK else { return nil }
    defer { deflateEnd(stream) }

    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    var rest = bytes[...]
    // zlib counts in 32 bits.
    repeat {
      let input = rest.prefix(1 << 30)
      rest = rest.dropFirst(input.count)
      let start = UnsafeRawBufferPointer(rebasing: input).assumingMemoryBound(to: UInt8.self)
      stream.pointee.next_in = UnsafeMutablePointer(mutating: start.baseAddress)
      stream.pointee.avail_in = UInt32(input.count)
      let isFilled = piece.withUnsafeMutableBufferPointer { piece in
        repeat {
          stream.pointee.next_out = piece.baseAddress
          stream.pointee.avail_out = UInt32(piece.count)
          guard deflate(stream, rest.isEmpty ? Z_FINISH : Z_NO_FLUSH) != Z_STREAM_ERROR else { return false }
          output.append(contentsOf: piece.prefix(piece.count - Int(stream.pointee.avail_out)))
        } while stream.pointee.avail_out == 0 && output.count <= limit
        return output.count <= limit
      }
      guard isFilled else { return nil }
    } while !rest.isEmpty
    return output
  }
}
