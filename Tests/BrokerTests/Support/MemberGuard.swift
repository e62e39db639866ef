import Foundation
import ProcessSupport
import Synchronization

/// Ensures that a process does not outlive the tests, however they end: a shell waits for the end of a pipe that only
/// the tests hold open, and then kills the process.
final class MemberGuard: Sendable {
  private let pipe: Mutex<FileHandle?>

  /// - Parameter pid: the process id.
  init(_ pid: Int32) throws {
    let input = Pipe()
    // A line means that the process has already ended.
    let script = "trap '' INT TERM; read line || kill -9 \(pid)"
    let shell = try ChildProcess("/bin/sh", ["-c", script], input: .pipe(input))
    shell.onEnd { _ in }
    pipe = Mutex(input.fileHandleForWriting)
  }

  /// Ends the guard, after the process has ended.
  func dismiss() {
    pipe.withLock { pipe in
      try? pipe?.write(contentsOf: Data("\n".utf8))
      try? pipe?.close()
      pipe = nil
    }
  }

  /// Closing the pipe without a line kills the process.
  deinit { pipe.withLock { try? $0?.close() } }
}
