import Feed
import Glibc

/// A file or standard output, with a buffer.
final class OutputFile {
  private let descriptor: Int32
  private let name: String
  let buffer = ByteWriter(capacity: 256 << 10)

  private static let flushBytes = 128 << 10

  /// - Parameter path: created or truncated; `-` is standard output.
  init(_ path: String) throws(ReplayError) {
    name = path == "-" ? "standard output" : path
    descriptor = path == "-" ? 1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw ReplayError(.cannotWrite, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    if descriptor > 1 { close(descriptor) }
  }

  /// Writes the buffer once it is large enough.
  func flushIfLarge() throws(ReplayError) {
    if buffer.count >= OutputFile.flushBytes { try flush() }
  }

  /// Writes the buffer.
  func flush() throws(ReplayError) {
    let bytes = buffer.written
    var written = 0
    while written < bytes.count {
      let count = write(descriptor, bytes.base + written, bytes.count - written)
      if count < 0 {
        if errno == EINTR { continue }
        throw ReplayError(.cannotWrite, "cannot write \(name): \(String(cString: strerror(errno)))")
      }
      written += count
    }
    buffer.removeAll()
  }
}
