import Glibc
import ObservationSupport
import Synchronization

/// A shell command. Only the shell itself is waited for.
///
/// Foundation's `Process` considers a process running as long as any of its descendants does, and a command that
/// restarts brokers may leave them in the background.
final class ShellCommand: Sendable {
  private let pid: pid_t
  private let code = Mutex<Int32?>(nil)

  /// Starts the command. Its input is empty, and its output goes to the tests' output.
  ///
  /// - Throws: ``BrokerFailure`` if there is no shell.
  init(_ command: String) throws(BrokerFailure) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    // Background processes must not keep the tests' descriptors open. Most of these are not open, which is not an
    // error.
    for descriptor in STDERR_FILENO + 1..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    let arguments = [strdup("sh"), strdup("-c"), strdup(command), nil]
    defer { for argument in arguments { free(argument) } }
    var pid: pid_t = 0
    let result = posix_spawn(&pid, "/bin/sh", &actions, nil, arguments, environ)
    guard result == 0 else {
      throw BrokerFailure("could not start \(command): \(String(cString: strerror(result)))")
    }
    self.pid = pid
  }

  /// The shell's exit code, or 128 plus a signal's number; nil while it runs.
  var exitCode: Int32? {
    code.withLock { code in
      var status: Int32 = 0
      guard code == nil, waitpid(pid, &status, WNOHANG) == pid else { return code }
      let signal = status & 0x7f
      code = signal == 0 ? (status >> 8) & 0xff : 128 + signal
      return code
    }
  }
}
