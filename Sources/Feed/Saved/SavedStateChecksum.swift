internal import CXxhash

/// The checksum over the lines of a saved state: XXH64 of each line, seeded with that of the line before.
struct SavedStateChecksum {
  private(set) var value: UInt64 = 0
  /// Lines that it is over.
  private(set) var lineCount = 0

  /// The checksum in 16 lower-case hexadecimal digits.
  var text: String {
    Replica.hexadecimal(UInt32(truncatingIfNeeded: value >> 32))
      + Replica.hexadecimal(UInt32(truncatingIfNeeded: value))
  }

  /// - Parameter line: without its line feed.
  mutating func append(_ line: ByteSpan) {
    value = feedstore_xxh64(line.base, line.count, value)
    lineCount += 1
  }
}
