public import Foundation

/// The command `feedstore` as it was built with the tests, beside which it stands.
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
