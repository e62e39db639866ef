import FeedTestSupport
import Foundation

/// The built command, which stands beside the tests, run to its end in a folder of its own.
struct CommandRun {
  let exitCode: Int32
  let output: String
  let error: String

  /// - Parameter folder: where it is run, and what paths are relative to.
  init(_ arguments: [String], in folder: URL) throws {
    let process = Process()
    process.executableURL = try BuiltCommand.url
    process.arguments = arguments
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
