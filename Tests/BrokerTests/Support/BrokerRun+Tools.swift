import FeedTestSupport
import ObservationSupport

/// What the tools make of a run's topics.
extension BrokerRun {
  /// Runs the tools of both builds: each must find the topics right and read in them what the other one reads, also when it
  /// goes on from what the other one has saved.
  ///
  /// Nothing may be on its way.
  func checkTools() async throws {
    try await onThread {
      var (feeds, rejects): ([Build: String], [Build: String]) = ([:], [:])
      for build in Build.allCases {
        _ = try self.output(of: ["verify", "--topic"], build)
        feeds[build] = try self.output(of: ["follow", "--snapshot"], build)
        rejects[build] = try self.output(of: ["rejects", "list", "--json"], build)
      }
      try BrokerFailure.check(feeds[.earlier] == feeds[.current], "the builds read different feeds")
      try BrokerFailure.check(
        rejects[.earlier] == rejects[.current],
        "the builds list different rejected records"
      )
      // Of two saved states each is gone on with, and saved again, by both.
      for first in Build.allCases {
        for build in [first, first.other] {
          let arguments = ["follow", "--snapshot", "--state", "\(first).state"]
          let found = try self.output(of: arguments, build)
          try BrokerFailure.check(
            found == feeds[build],
            "\(build): \(arguments) reads other feeds than without a state"
          )
        }
      }
    }
  }

  /// What a command prints; it must succeed, and use what was saved for it.
  private func output(of arguments: [String], _ build: Build) throws -> String {
    let command = try CommandRun(arguments + Build.options(common), of: build.command, in: directory)
    try BrokerFailure.check(
      command.exitCode == 0 && !command.error.contains("cannot be used"),
      "\(build): \(arguments): exit code \(command.exitCode): \(command.output.suffix(2_000))\n\(command.error)"
    )
    return command.output
  }
}
