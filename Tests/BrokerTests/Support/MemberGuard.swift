import Foundation
import Synchronization

/// Sees to it that a process does not outlive the tests, however these end: a shell that waits for the end of
/// a pipe which only the tests hold, and then kills.
final class MemberGuard: Sendable {
  private let pipe: Mutex<FileHandle?>

  /// - Parameter pid: the process.
  init(_ pid: Int32) throws {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    // A line comes only when the process has ended by itself.
    shell.arguments = ["-c", "trap '' INT TERM; read line || kill -9 \(pid)"]
    let input = Pipe()
    shell.standardInput = input
    shell.standardOutput = FileHandle.nullDevice
    shell.standardError = FileHandle.nullDevice
    try shell.run()
    pipe = Mutex(input.fileHandleForWriting)
  }

  /// The process has ended.
  func dismiss() {
    pipe.withLock { pipe in
      try? pipe?.write(contentsOf: Data("\n".utf8))
      try? pipe?.close()
      pipe = nil
    }
  }

  /// Nobody can dismiss it any more.
  deinit { pipe.withLock { try? $0?.close() } }
}
