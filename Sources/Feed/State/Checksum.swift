internal import CXxhash
import Glibc

/// The terms of a feed's checksum (protocol, section 4): XXH32 with seed 0 over each element and
/// its predecessor. The checksum is their sum, so that a change touches only its neighbours' terms.
enum Checksum {
  /// - Parameter buffer: room for four identifiers of 255 bytes and their separators.
  static func section(
    _ id: ByteSpan,
    after previous: ByteSpan,
    _ buffer: UnsafeMutablePointer<UInt8>
  ) -> UInt32 {
    var count = 0
    buffer[0] = UInt8(ascii: "s")
    count = 1
    append(previous, buffer, &count)
    append(id, buffer, &count)
    return feedstore_xxh32(buffer, count)
  }

  static func item(
    _ id: ByteSpan,
    kind: ByteSpan,
    after previous: ByteSpan,
    in section: ByteSpan,
    _ buffer: UnsafeMutablePointer<UInt8>
  ) -> UInt32 {
    var count = 0
    buffer[0] = UInt8(ascii: "i")
    count = 1
    append(section, buffer, &count)
    append(previous, buffer, &count)
    append(id, buffer, &count)
    append(kind, buffer, &count)
    return feedstore_xxh32(buffer, count)
  }

  private static func append(_ bytes: ByteSpan, _ buffer: UnsafeMutablePointer<UInt8>, _ count: inout Int) {
    buffer[count] = 0
    memcpy(buffer + count + 1, bytes.base, bytes.count)
    count += 1 + bytes.count
  }
}
