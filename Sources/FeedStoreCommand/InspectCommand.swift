import FeedConfiguration
import FeedDaemon
import FeedTools
import Service

/// `feedstore inspect`: prints the state of a feed.
enum InspectCommand: Subcommand {
  static let specification = CommandSpecification(
    "inspect",
    summary: "Shows what the changesets topic stores for a feed.",
    discussion: """
      Reads topics.changesets to its end, and prints the feed's epoch and revision, how far its input is \
      included, its sizes, and what was written since its last reload. If several partitions have the id, which is \
      a mistake of producers, it shows the feed of each. Exits with 1 if there is no such feed, or if nothing comes \
      from the brokers for 30 s.
      """,
    arguments: ArgumentSpecification("FEED", maximum: 1, help: "The feed's id."),
    options: configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let log = CommandLog.make(configuration)
    let feed = invocation.arguments[0]
    let inspection = FeedInspection(configuration, feed: feed, stop: stopOnSignals(log), log: log)
    guard let report = try await inspection.run() else {
      DiagnosticOutput.standardError.write(line: "feedstore: there is no feed \"\(feed)\"")
      return .failed
    }
    StandardOutput.write(report)
    return .done
  }
}
