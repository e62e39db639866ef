public import Foundation
import ProcessSupport

/// The `feedstore` command that was built with the tests, in the same directory.
public enum BuiltCommand {
  public struct Missing: Error, CustomStringConvertible {
    public let description: String
  }

  /// - Throws: ``Missing`` if it is not built.
  public static var url: URL {
    get throws {
      let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      let command = tests.deletingLastPathComponent().appendingPathComponent("feedstore")
      guard FileManager.default.isExecutableFile(atPath: command.path) else {
        throw Missing(
          description: "there is no \(command.path); build it with: swift build --build-tests"
        )
      }
      return command
    }
  }
}

/// The built command, run to its end in a folder of its own.
public struct CommandRun {
  public let exitCode: Int32
  public let output: String
  public let error: String

  /// - Parameters:
  ///   - command: the command; nil for the one that stands beside the tests.
  ///   - folder: where it is run, and what paths are relative to.
  ///   - environment: variables beside this process's.
  ///   - stackKilobytes: the size of the main thread's stack; nil for the usual one.
  ///   - redirection: of its streams, as the shell knows it: `>/dev/full`.
  public init(
    _ arguments: [String],
    of command: URL? = nil,
    in folder: URL,
    environment: [String: String] = [:],
    stackKilobytes: Int? = nil,
    redirection: String = ""
  ) throws {
    var (executable, arguments) = (try (command ?? BuiltCommand.url).path, arguments)
    if stackKilobytes != nil || !redirection.isEmpty {
      let limit = stackKilobytes.map { "ulimit -s \($0) && " } ?? ""
      arguments = ["-c", "\(limit)exec \"$0\" \"$@\" \(redirection)", executable] + arguments
      executable = "/bin/sh"
    }
    let (output, error) = (Pipe(), Pipe())
    let process = try ChildProcess(
      executable,
      arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { _, given in given },
      in: folder.path,
      output: .pipe(output),
      error: .pipe(error)
    )
    // The standard error is small enough for a pipe.
    self.output = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    self.error = String(decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    exitCode = process.waitForEnd().status
  }
}
