import FeedPipeline
import Service

/// One subcommand: what it takes, and what it does.
protocol Subcommand: SendableMetatype {
  static var specification: CommandSpecification { get }

  /// Runs it to the end. Errors are reported by the caller.
  static func run(_ invocation: CommandInvocation) async throws -> ExitCode
}

extension Subcommand {
  /// The options by which every subcommand is configured.
  static var configurationOptions: [OptionSpecification] {
    [
      .value("config", "FILE", help: "Configuration in JSON5; see config/feedstore.json5."),
      .repeated(
        "set",
        "KEY=VALUE",
        choices: PipelineConfiguration.keys.map { $0 + "=" },
        help: "Sets one key; overrides the file."
      ),
    ]
  }

  static func configuration(_ invocation: CommandInvocation) throws -> PipelineConfiguration {
    try PipelineConfiguration.load(file: invocation.value("config"), assignments: invocation.values("set"))
  }
}
