import CProgram
import Glibc

/// The text that a program printed until it ended.
package struct ProgramOutput: Sendable, Equatable {
  /// How it ended, as the predicate of a sentence; nil if it ended with code 0.
  package private(set) var fault: String?
  package private(set) var output: [UInt8] = []
  /// The beginning of standard error.
  package private(set) var errors: [UInt8] = []

  /// Runs a program without a shell. Blocks until it ends; then its process group is killed, with the children that it left.
  ///
  /// - Parameters:
  ///   - command: the program, by path or by a name that is searched in `PATH`, and its arguments.
  ///   - most: the maximum size of the output, and how much of the errors is kept, in bytes.
  /// - Throws: ``FileError`` if it cannot be started.
  package init(of command: [String], timeoutMilliseconds: Int64, atMost most: Int) throws(FileError) {
    let arguments = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var (outputEnd, errorsEnd): (Int32, Int32) = (-1, -1)
    let id = feedstore_start_program(arguments, &outputEnd, &errorsEnd)
    defer { for end in [outputEnd, errorsEnd] where end >= 0 { close(end) } }
    guard id > 0 else { throw FileError("start \(command[0])", -id) }
    let deadline = MonotonicClock.milliseconds() + timeoutMilliseconds
    var (info, status): (siginfo_t, Int32) = (siginfo_t(), 0)
    repeat {
      // It stays a zombie, so that no other process gets its number. Then the last text is read as well.
      _ = waitid(P_PID, id_t(id), &info, WEXITED | WNOHANG | WNOWAIT)
      output += Self.available(outputEnd)
      errors += Self.available(errorsEnd).prefix(most - errors.count)
      if info.si_signo == 0 { usleep(10_000) }
    } while info.si_signo == 0 && output.count <= most && MonotonicClock.milliseconds() < deadline
    kill(-id, SIGKILL)
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    if output.count > most {
      fault = "printed more than \(most) bytes, and was killed"
    } else if info.si_signo == 0 {
      fault = "did not end within \(timeoutMilliseconds) ms, and was killed"
    } else if status != 0 {
      let signal = status & 0x7F
      fault = signal == 0 ? "ended with code \(status >> 8)" : "was killed by signal \(signal)"
    }
  }

  private static func available(_ descriptor: Int32) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 65_536) { $1 = max(0, read(descriptor, $0.baseAddress, $0.count)) }
  }
}
