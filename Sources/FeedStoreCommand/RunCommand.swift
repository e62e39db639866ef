import FeedPipeline
import Service

/// `feedstore run`: the daemon.
enum RunCommand: Subcommand {
  static let specification = CommandSpecification(
    "run",
    summary: "Keeps feeds from Kafka's input topics and publishes their changesets.",
    discussion: """
      Joins the group kafka.group.id (feedstore) on topics.sections and topics.items, which must have \
      equally many partitions, and publishes changesets, rejected records and offsets in one transaction \
      per window. SIGINT and SIGTERM end it well: it publishes what waits, commits, and leaves the group.

      Feeds are kept in memory, and restored from topics.changesets at the start.
      """,
    options: configurationOptions + [
      .flag("embedded", help: "Starts a Kafka broker in the process; nothing outlives it.")
    ]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let log = Log(level: configuration.logLevel)
    let daemon = Daemon(
      configuration,
      isEmbedded: invocation.flag("embedded"),
      stop: stopOnSignals(log),
      log: log
    ) { event in
      guard case .listening(let address) = event else { return }
      // The one line on standard output, so that a script can read it.
      StandardOutput.write(line: address)
      log.warning("the broker is in this process: nothing in it outlives it", ["bootstrap.servers": address])
    }
    let report = try await daemon.run()
    DiagnosticOutput.standardError.write(line: report.text)
    return .done
  }
}
