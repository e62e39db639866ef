import Glibc
import ProcessSupport
import Testing

/// The command with which the tests restart brokers; this needs no cluster.
@Suite struct ShellCommandTests {
  @Test(arguments: [("true", 0), ("exit 7", 7), ("kill -9 $$", 137)] as [(String, Int32)])
  func `the end of a command is told by its exit code`(command: String, expected: Int32) async throws {
    let shell = try ShellCommand(command)
    #expect(try await exitCode(of: shell) == expected)
  }

  @Test func `what a command leaves in the background is not waited for`() async throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    // In the shell's own process group, and with its output; it ends only when it is killed.
    let shell = try ShellCommand("tail -f /dev/null & echo $! >/proc/\(getpid())/fd/\(ends[1])")
    #expect(try await exitCode(of: shell) == 0)
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(ends[0], &bytes, bytes.count)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    let background = try #require(pid_t(text.dropLast()))
    #expect(kill(background, SIGKILL) == 0, "it still ran")
  }

  private func exitCode(of shell: ShellCommand) async throws -> Int32 {
    let deadline = ContinuousClock.now + .seconds(300)
    while true {
      if let exitCode = shell.exitCode { return exitCode }
      try #require(ContinuousClock.now < deadline, "the command does not end")
      await Task.yield()
    }
  }
}

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
