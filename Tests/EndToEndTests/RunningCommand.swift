import FeedTestSupport
import Foundation
import ProcessSupport
import Testing

/// A running instance of the built command, killed when this object is released.
final class RunningCommand {
  private let process: ChildProcess
  private let error = Pipe()
  private var unread = Data()

  /// - Parameters:
  ///   - folder: the working directory.
  ///   - environment: variables added to this process's.
  init(_ arguments: [String], in folder: URL, environment: [String: String] = [:]) throws {
    process = try ChildProcess(
      BuiltCommand.url.path,
      arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { _, given in given },
      in: folder.path,
      error: .pipe(error)
    )
  }

  deinit {
    process.signal(SIGKILL)
    process.waitForEnd()
  }

  func signal(_ number: Int32) { process.signal(number) }

  /// Reads its log up to the next line with a text.
  func line(with text: String) throws -> String {
    while let line = try nextLine() {
      if line.contains(text) { return line }
    }
    throw Ended(description: "it ended before it wrote a line with: \(text)")
  }

  /// Waits for the process to end.
  func exitCode() throws -> Int32 {
    while try nextLine() != nil {}
    return process.waitForEnd().status
  }

  struct Ended: Error, CustomStringConvertible { let description: String }

  private func nextLine() throws -> String? {
    while true {
      if let end = unread.firstIndex(of: 0x0A) {
        defer { unread = Data(unread[(end + 1)...]) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      guard let more = try error.fileHandleForReading.read(upToCount: 1), !more.isEmpty else { return nil }
      unread += more
    }
  }
}
