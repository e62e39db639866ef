import Diagnostics
import FeedConfiguration
import FeedTools
import OperatingSystem
import Settings

/// `feedstore replay`: runs the whole pipeline on files, without Kafka.
enum ReplayCommand: Subcommand {
  static let specification = CommandSpecification(
    "replay",
    summary: "Runs the whole pipeline on files, without Kafka.",
    discussion: """
      Reads records in the envelope of kcat -J, one per line, and writes changesets the same way. With --ingest it reads \
      rows and change events instead, and maps them as ingest.sources says.
      """,
    arguments: ArgumentSpecification(
      "FILE",
      minimum: 0,
      help: "Replay files, also in gzip format, read as one input; - is standard input."
    ),
    options: configurationOptions + [
      .repeated(
        "ingest",
        "FILE",
        help: "Files with records of the topics of ingest.sources, to be mapped first."
      ),
      .value("output", "FILE", help: "Where changesets go; - is standard output, the default."),
      .value("rejected", "FILE", help: "Where rejected records go, with the reasons."),
      .flag("strict", help: "Exit with 1 if any record was rejected."),
    ]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let (files, rows) = (invocation.arguments, invocation.values("ingest"))
    guard files.isEmpty != rows.isEmpty else {
      throw UsageError(
        rows.isEmpty
          ? "'feedstore replay' needs FILE... or --ingest FILE; see 'feedstore replay --help'"
          : "unexpected argument '\(files[0])' with --ingest; name files with records of feeds, or with rows"
      )
    }
    guard rows.isEmpty || !configuration.ingest.sources.isEmpty else { throw IngestOptions.noSources }
    var replay = Replay(
      inputs: files + rows,
      output: invocation.value("output") ?? "-",
      rejected: invocation.value("rejected"),
      options: configuration.store
    )
    replay.log = CommandLog.plain(configuration)
    if !rows.isEmpty { replay.ingest = configuration.ingest }
    let report = try await replay.run()
    DiagnosticOutput.standardError.write(line: report.text)
    return invocation.flag("strict") && report.rejectedRecords > 0 ? .failed : .done
  }
}

/// `feedstore verify`: checks changesets against the protocol.
enum VerifyCommand: Subcommand {
  static let specification = CommandSpecification(
    "verify",
    summary: "Checks changesets against the protocol, in files or on a cluster.",
    discussion: """
      Reads files as replay writes them, or with --topic the changesets topic from its beginning to its end. \
      Prints the first fault of each feed with its place, what was found and what was expected; exits with 1 \
      if there are any.

      keyframe.maxDeltas, keyframe.maxBytesRatio, output.maxMessageBytes and output.source must be what the \
      changesets were written with. Of a topic that was compacted, gaps that a later reload closes are no \
      faults.
      """,
    arguments: ArgumentSpecification(
      "FILE",
      minimum: 0,
      help: "Files with changesets, read as one input; - is standard input."
    ),
    options: [.flag("topic", help: "Reads the topic topics.changesets instead of files.")]
      + configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let report = try await Verification.run(
      configuration,
      input: try input(invocation),
      log: CommandLog.make(configuration),
      tell: { _ = StandardOutput.write(line: $0) }
    )
    DiagnosticOutput.standardError.write(line: report.text)
    return report.isRight ? .done : .failed
  }

  private static func input(_ invocation: CommandInvocation) throws(UsageError) -> Verification.Input {
    let files = invocation.arguments
    switch (invocation.flag("topic"), files.isEmpty) {
    case (true, true): return .topic
    case (false, false): return .files(files)
    case (true, false):
      throw UsageError("unexpected argument '\(files[0])' with --topic; name files, or give --topic")
    case (false, true):
      throw UsageError("'feedstore verify' needs FILE... or --topic; see 'feedstore verify --help'")
    }
  }
}

/// `feedstore publish`: sends replay files to their topics.
enum PublishCommand: Subcommand {
  static let specification = CommandSpecification(
    "publish",
    summary: "Sends replay files into Kafka's topics.",
    discussion: """
      Each record goes to the topic its line names (feeds.items if it names none), with its key, value and \
      timestamp, and for the input topics into the partition of its key (murmur2, as Java's clients do).

      A topic that keeps records by time drops those whose timestamps are older than that. A timestamp of 0 \
      is sent as the time of sending.
      """,
    arguments: ArgumentSpecification(
      "FILE",
      help: "Replay files, also in gzip format, read as one input; - is standard input."
    ),
    options: configurationOptions + [
      .value(
        "speed",
        "N",
        help: "Paces records by their timestamps, N times as fast; by default as fast as possible."
      )
    ]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let speed = try invocation.number("speed", in: 0.001...1_000_000)
    let log = CommandLog.make(configuration)
    let publisher = FilePublisher(
      configuration,
      inputs: invocation.arguments,
      speed: speed,
      stop: .process,
      log: log
    )
    let report = try await publisher.run()
    DiagnosticOutput.standardError.write(line: report.text)
    return report.isComplete ? .done : .failed
  }
}
