import ProcessSupport

/// A shell command. Only the shell itself is waited for: a command that restarts brokers may leave them in the background.
final class ShellCommand: Sendable {
  private let shell: ChildProcess

  /// Starts the command. Its input is empty, and its output goes to the tests' output.
  init(_ command: String) throws {
    shell = try ChildProcess("/bin/sh", ["-c", command], output: .inherited, error: .inherited)
  }

  /// The shell's exit code, or 128 plus a signal's number; nil while it runs.
  var exitCode: Int32? {
    switch shell.end {
    case .exited(let code)?: code
    case .killed(let signal)?: 128 + signal
    case nil: nil
    }
  }
}
