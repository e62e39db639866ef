internal import CZlib

/// Compresses with zlib.
enum Gzip {
  /// Between zlib's default (6) and its fastest level: most of the gain in half the time.
  private static let level: Int32 = 4

  /// Compresses bytes in gzip format (RFC 1952); nil if the result exceeds `limit`, or there is no memory.
  static func compress(_ bytes: UnsafeRawBufferPointer, upTo limit: Int) -> [UInt8]? {
    // At a fixed address, because zlib keeps a pointer to it.
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    // 15: the largest window; plus 16: gzip instead of zlib format. 8: the default memory level.
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
    // zlib's counts have 32 bits.
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
