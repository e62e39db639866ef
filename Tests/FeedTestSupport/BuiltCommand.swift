public import Foundation

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
