import FeedConfiguration
import FeedDaemon
import FeedTools
import Service

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
    let speed = try invocation.number("speed", default: 0, in: 0.001...1_000_000)
    let log = CommandLog.make(configuration)
    let publisher = Publisher(
      configuration,
      inputs: invocation.arguments,
      speed: speed == 0 ? nil : speed,
      stop: stopOnSignals(log),
      log: log
    )
    let report = try await publisher.run()
    DiagnosticOutput.standardError.write(line: report.text)
    return report.isComplete ? .done : .failed
  }
}
