import Glibc
import Service

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
    let number = Array(text.utf8).withUnsafeBytes { WholeFile.write($0, to: descriptor) }
    // `deinit` closes it.
    if number != 0 { throw DemoFile.failure(number) }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// A path that opens the file at its beginning, as long as this object lives.
  package var path: String { "/proc/self/fd/\(descriptor)" }

  private static func failure(_ number: Int32 = errno) -> ReplayError {
    ReplayError(.cannotWrite, "cannot write the sample history to /tmp: \(String(cString: strerror(number)))")
  }
}
