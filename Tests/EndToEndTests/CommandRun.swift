import FeedTestSupport
import Foundation

/// A completed run of the built command, in a given folder.
struct CommandRun {
  let exitCode: Int32
  let output: String
  let error: String

  /// - Parameters:
  ///   - folder: the working directory.
  ///   - environment: variables added to this process's.
  ///   - stackKilobytes: the size of the main thread's stack; nil for the default.
  init(
    _ arguments: [String],
    in folder: URL,
    environment: [String: String] = [:],
    stackKilobytes: Int? = nil
  ) throws {
    let process = Process()
    let command = try BuiltCommand.url
    if let stackKilobytes {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments =
        ["-c", "ulimit -s \(stackKilobytes) && exec \"$0\" \"$@\"", command.path] + arguments
    } else {
      process.executableURL = command
      process.arguments = arguments
    }
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, given in given }
    process.currentDirectoryURL = folder
    process.standardInput = FileHandle.nullDevice
    let (output, error) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, error)
    try process.run()
    // The standard error is small enough for a pipe.
    self.output = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    self.error = String(decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    exitCode = process.terminationStatus
  }
}
