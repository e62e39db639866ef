package import Feed
import FeedStore
import Glibc

/// The records of a replay file in memory.
package final class ReplayLines: InputBatch, @unchecked Sendable {
  // Unchecked: there is no other reference while the store reads it.
  private let bytes: UnsafeMutableRawBufferPointer
  private let parser = ReplayLineParser()
  private var start = 0
  private var record: InputRecord?
  /// The number of records taken.
  package private(set) var recordCount = 0

  /// - Returns: nil if the file does not exist.
  package init?(path: String) {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    fseek(file, 0, SEEK_END)
    let count = ftell(file)
    rewind(file)
    bytes = .allocate(byteCount: max(1, count), alignment: 64)
    guard fread(bytes.baseAddress, 1, count, file) == count else { return nil }
  }

  deinit { bytes.deallocate() }

  package func current() throws -> InputRecord? {
    while record == nil {
      guard let base = bytes.baseAddress, start < bytes.count else { return nil }
      let end =
        memchr(base + start, 0x0A, bytes.count - start).map { base.distance(to: $0) } ?? bytes.count
      record = try parser.parse(ByteSpan(UnsafeRawBufferPointer(rebasing: bytes[start..<end])))
      start = end + 1
    }
    return record
  }

  package func advance() {
    record = nil
    recordCount += 1
  }
}
