import FeedConfiguration
import FeedDaemon
import FeedTools
import Service

/// `feedstore ingest`: maps topics of rows to feeds.
enum IngestCommand: Subcommand {
  static let specification = CommandSpecification(
    "ingest",
    summary: "Maps topics of rows or of Debezium's change events to records of feeds, exactly once.",
    discussion: """
      Reads the topics of ingest.sources as a member of the group ingest.group, and writes records to topics.items, with the \
      offsets in the same transactions; several processes share the topics. What cannot be mapped goes to topics.rejected. \
      On SIGINT and SIGTERM it commits what it has mapped, and leaves the group.

      docs/ingest.md describes the mapping. 'feedstore replay --ingest' runs it on files.
      """,
    options: configurationOptions + [
      .flag("dry-run", help: "Prints what the first records of each topic would become, and writes nothing.")
    ]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    guard !configuration.ingest.sources.isEmpty else { throw IngestOptions.noSources }
    let log = CommandLog.make(configuration)
    if invocation.flag("dry-run") {
      try await IngestPreview.run(configuration, log: log) { StandardOutput.write(line: $0) }
      return .done
    }
    let stop = stopOnSignals(log, onHangup: false)
    let ingest = Ingest(configuration, stop: stop, log: log, crash: try RunCommand.crashInjection(log))
    let report = try await ingest.run()
    CommandLog.finish()
    DiagnosticOutput.standardError.write(line: report)
    return .done
  }
}
