import Glibc

/// Reads a file line by line. The buffer grows to the longest line.
public final class LineReader {
  private let path: String
  private let descriptor: Int32
  private var buffer: UnsafeMutableRawBufferPointer
  /// The bytes that were read but not returned yet.
  private var (start, end) = (0, 0)
  /// The position up to which the end of the line has been searched for.
  private var searched = 0
  private var isAtEnd = false

  /// - Parameter chunkBytes: the size of each read in bytes; it does not affect the result.
  /// - Throws: ``FileError``; `isMissing` means that there is no such file.
  public init(_ path: String, chunkBytes: Int = 1 << 20) throws(FileError) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    // Checked before any allocation, which may change `errno` even if it succeeds.
    guard descriptor >= 0 else { throw FileError("read \(path)") }
    buffer = .allocate(byteCount: max(1, chunkBytes), alignment: 64)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
    buffer.deallocate()
  }

  /// The next line without its line feed, valid until the next call; nil at the end. Text after the last line feed
  /// counts as a line unless it is empty.
  public func next() throws(FileError) -> UnsafeRawBufferPointer? {
    while true {
      if let base = buffer.baseAddress, let found = memchr(base + searched, 0x0A, end - searched) {
        let lineEnd = base.distance(to: found)
        defer { (start, searched) = (lineEnd + 1, lineEnd + 1) }
        return UnsafeRawBufferPointer(rebasing: buffer[start..<lineEnd])
      }
      searched = end
      if isAtEnd {
        defer { start = end }
        return start < end ? UnsafeRawBufferPointer(rebasing: buffer[start..<end]) : nil
      }
      try fill()
    }
  }

  /// Reads more bytes after the buffered ones.
  private func fill() throws(FileError) {
    if start > 0 {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
      (searched, end, start) = (searched - start, end - start, 0)
    }
    if end == buffer.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 64)
      larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
      buffer.deallocate()
      buffer = larger
    }
    while true {
      let count = read(descriptor, buffer.baseAddress.map { $0 + end }, buffer.count - end)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileError("read \(path)") }
      end += count
      isAtEnd = count == 0
      return
    }
  }
}
