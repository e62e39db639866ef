import Diagnostics
import FeedConfiguration
import FeedDemo
import FeedTools
import OperatingSystem
import Settings

/// `feedstore demo`: runs everything in one process, as a demonstration.
enum DemoCommand: Subcommand {
  static let specification = CommandSpecification(
    "demo",
    summary: "Shows FeedStore at work: a broker, the daemon and a follower in one process.",
    discussion: """
      Plays a made-up history of five feeds through a Kafka broker in the process, follows the changesets as \
      a service would, prints each, and at the end compares the follower's replicas with the store's feeds; \
      they must be the same.

      Meanwhile the inspector, a page in the browser, shows the feeds as they change; with --loop there is time to \
      look at it.

      With --write, writes the history to a file instead; replay and publish read it as well.
      """,
    arguments: ArgumentSpecification(
      "FILE",
      minimum: 0,
      help: "Replay files to play instead; their topics are the input topics."
    ),
    options: configurationOptions + [
      .flag("loop", help: "Plays it again and again, until it is interrupted."),
      .value("speed", "N", help: "How many times as fast as recorded; 1 is the default."),
      .value(
        "write",
        "FILE",
        help: "Writes the synthetic history to a file (- is standard output) and ends."
      ),
    ]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    if let path = invocation.value("write") {
      if let file = invocation.arguments.first {
        throw UsageError(
          "unexpected argument '\(file)' with --write, which writes the synthetic history; leave out one of them"
        )
      }
      try DemoHistory.write(to: path)
      return .done
    }
    let speed = try invocation.number("speed", in: 0.001...1_000_000) ?? 1
    let configuration = try demoConfiguration(invocation)
    let log = CommandLog.make(configuration)
    let stop = orderlyStop()
    var demo = Demo(
      configuration,
      inputs: invocation.arguments,
      speed: speed,
      stop: stop,
      log: log,
      tell: { if !StandardOutput.write(line: $0) { stop.request() } }
    )
    demo.isLooping = invocation.flag("loop")
    let report = try await demo.run()
    StandardOutput.write(report.text)
    return report.isSame ? .done : .failed
  }

  /// The configuration, with defaults for a demo: windows that a person can follow, and only errors in the log.
  private static func demoConfiguration(_ invocation: CommandInvocation) throws -> FeedStoreConfiguration {
    var sources = sources(invocation)
    if sources.file == nil {
      let settings = [
        ConfigurationPair(name: "coalesce.window", value: "400"),
        ConfigurationPair(name: "log.level", value: "error"),
        ConfigurationPair(name: "http.enabled", value: "true"),
        ConfigurationPair(name: "http.port", value: "0"),
      ]
      sources.command = ("demo", settings)
    }
    return configuration(try sources.load())
  }
}
