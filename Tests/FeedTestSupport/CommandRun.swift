public import Foundation

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
  public init(
    _ arguments: [String],
    of command: URL? = nil,
    in folder: URL,
    environment: [String: String] = [:],
    stackKilobytes: Int? = nil
  ) throws {
    let process = Process()
    let command = try command ?? BuiltCommand.url
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
    // What is on standard error fits into a pipe.
    self.output = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    self.error = String(decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    exitCode = process.terminationStatus
  }
}
