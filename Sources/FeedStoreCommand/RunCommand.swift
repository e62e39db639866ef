import Diagnostics
import FeedConfiguration
import FeedDaemon
import FeedIngest
import FeedStatus
import FeedTools
import FeedTransactions
import FoundationEssentials
import OperatingSystem
import Settings

/// `feedstore run`: the daemon.
enum RunCommand: Subcommand {
  static let specification = CommandSpecification(
    "run",
    summary: "Maintains feeds from Kafka's input topics, and publishes their changesets.",
    discussion: """
      Joins the group kafka.group.id (feedstore) on topics.sections and topics.items, which must have \
      equally many partitions, and publishes changesets, rejected records and offsets in one transaction \
      per window. On SIGINT and SIGTERM it publishes pending changes, commits, and leaves the group. On SIGHUP it reads \
      its configuration again, and applies the log level, the token and the HTTPS certificate.

      Feeds are kept in memory, and restored from topics.changesets at the start.

      The broker of --embedded is for trying things out. It keeps the newest 5 MiB of each partition: producers are \
      held back until their records are read, but who follows the changesets late may miss some.
      """,
    options: configurationOptions + [
      .flag("embedded", help: "Starts a Kafka broker in the process; its data is lost when the process ends.")
    ]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let sources = sources(invocation)
    let loaded = try sources.load()
    let configuration = configuration(loaded)
    let log = CommandLog.make(configuration)
    log.write(
      .startupStarting,
      "starting",
      ["version": Release.version, "commit": Release.commit, "workers": configuration.workers]
    )
    let updater = ConfigurationUpdater(sources, running: loaded, log: log)
    HangupSignal.install { updater.run() }
    FreedMemory.keep()
    let stop = orderlyStop()
    var daemon = Daemon(
      configuration,
      isEmbedded: invocation.flag("embedded"),
      stop: stop,
      log: log
    ) { event in
      switch event {
      case .listening(let address):
        // On standard output, so that scripts can read it.
        StandardOutput.write(line: address)
        if StandardOutput.failure != nil { stop.request() }
        log.write(
          .startupEmbeddedBroker,
          "the broker runs in this process, and its data ends with it",
          ["bootstrapServers": address]
        )
      case .serving(let url): log.write(.httpServing, "serving HTTP", ["url": url])
      default: break
      }
    }
    daemon.updater = updater
    daemon.supervisor = SupervisorSocket { ProcessInfo.processInfo.environment[$0] }
    daemon.crash = try crashInjection(log)
    let report = try await daemon.run()
    CommandLog.finish()
    switch log.format {
    case .text: DiagnosticOutput.standardError.write(line: report.text)
    case .json: log.write(.shutdownCompleted, "stopped", report.fields)
    }
    return .done
  }

  /// Ends the process suddenly in tests; not in the help.
  static func crashInjection(_ log: Log) throws(ConfigurationError) -> CrashInjection? {
    guard let text = ProcessInfo.processInfo.environment["FEEDSTORE_CRASH_AT"] else { return nil }
    guard let crash = CrashInjection(text) else {
      let points = CrashInjection.Point.allCases.map(\.rawValue).joined(separator: ", ")
      throw ConfigurationError(
        "FEEDSTORE_CRASH_AT is \"\(text)\"; allowed: \(points), each also with :N for the N-th time"
      )
    }
    log.write(.startupCrashTest, "the process will kill itself, for a test", ["point": text])
    return crash
  }
}

/// `feedstore ingest`: maps topics of rows to feeds.
enum IngestCommand: Subcommand {
  static let specification = CommandSpecification(
    "ingest",
    summary: "Maps topics of rows or of Debezium's change events to records of feeds, exactly once.",
    discussion: """
      Reads the topics of ingest.sources as a member of the group ingest.group, and writes records to topics.items and \
      topics.contents, with the offsets in the same transactions; several processes share the topics. What cannot be mapped \
      goes to topics.rejected. On SIGINT and SIGTERM it commits what it has mapped, and leaves the group. On SIGHUP it reads \
      its configuration again, as 'feedstore run' does.

      docs/ingest.md describes the mapping. 'feedstore replay --ingest' runs it on files.
      """,
    options: configurationOptions + [
      .flag("check", help: "Runs the tests of the sources, without a broker, and exits with 1 if one fails."),
      .flag("dry-run", help: "Prints the mapped events of each topic's first records, and writes nothing."),
    ]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let sources = sources(invocation)
    let loaded = try sources.load()
    let configuration = configuration(loaded)
    guard !configuration.ingest.sources.isEmpty else { throw IngestOptions.noSources }
    if invocation.flag("check") {
      let (failures, count) = MappingTests.run(configuration)
      for failure in failures { DiagnosticOutput.standardError.write(line: UpdateText.printable(failure)) }
      StandardOutput.write(line: "\(count - failures.count) of \(count) tests passed")
      return failures.isEmpty ? .done : .failed
    }
    let log = CommandLog.make(configuration)
    if invocation.flag("dry-run") {
      try await IngestPreview.run(configuration, log: log) { StandardOutput.write(line: $0) }
      return .done
    }
    let updater = ConfigurationUpdater(sources, running: loaded, log: log)
    HangupSignal.install { updater.run() }
    var daemon = Daemon(configuration.ofIngest, stop: orderlyStop(), log: log) { event in
      if case .serving(let url) = event { log.write(.httpServing, "serving HTTP", ["url": url]) }
    }
    daemon.isIngesting = true
    daemon.updater = updater
    daemon.crash = try RunCommand.crashInjection(log)
    let report = try await daemon.run()
    CommandLog.finish()
    DiagnosticOutput.standardError.write(line: report.text)
    return .done
  }
}
