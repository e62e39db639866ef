import Glibc

/// A text as an unnamed file, which is deleted with this object.
package final class DemoFile: Sendable {
  private let descriptor: Int32

  /// - Throws: ``ReplayError`` if it cannot be written.
  package init(_ text: String) throws(ReplayError) {
    var path = Array("/tmp/feedstore-demo-XXXXXX".utf8CString)
    descriptor = mkstemp(&path)
    guard descriptor >= 0 else { throw DemoFile.failure() }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // The file stays reachable through its descriptor.
    unlink(path)
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      // `deinit` closes it.
      guard count > 0 else { throw DemoFile.failure() }
      bytes = bytes.dropFirst(count)
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// A path that opens the file at its beginning, as long as this object lives.
  package var path: String { "/proc/self/fd/\(descriptor)" }

  private static func failure() -> ReplayError {
    ReplayError(.cannotWrite, "cannot write the sample history to /tmp: \(String(cString: strerror(errno)))")
  }
}
