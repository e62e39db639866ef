import FeedConfiguration
import FeedDaemon
import FeedTools
import Service

/// `feedstore replay`: runs the whole pipeline on files, without Kafka.
enum ReplayCommand: Subcommand {
  static let specification = CommandSpecification(
    "replay",
    summary: "Runs the whole pipeline on files, without Kafka.",
    discussion: "Reads records in the envelope of kcat -J, one per line, and writes changesets the same way.",
    arguments: ArgumentSpecification(
      "FILE",
      help: "Replay files, also in gzip format, read as one input; - is standard input."
    ),
    options: configurationOptions + [
      .value("output", "FILE", help: "Where changesets go; - is standard output, the default."),
      .value("rejected", "FILE", help: "Where rejected records go, with the reasons."),
      .flag("strict", help: "Exit with 1 if any record was rejected."),
    ]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    var replay = Replay(
      inputs: invocation.arguments,
      output: invocation.value("output") ?? "-",
      rejected: invocation.value("rejected"),
      options: configuration.store
    )
    replay.log = CommandLog.plain(configuration)
    let report = try await replay.run()
    DiagnosticOutput.standardError.write(line: report.text)
    return invocation.flag("strict") && report.rejectedRecords > 0 ? .failed : .done
  }
}
