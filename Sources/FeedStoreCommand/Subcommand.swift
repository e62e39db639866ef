import FeedConfiguration
import FeedPipeline
import FoundationEssentials
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
        help: "Sets one key; overrides the file and the environment."
      ),
    ]
  }

  /// What the configuration is made of.
  static func sources(_ invocation: CommandInvocation) -> ConfigurationSources {
    ConfigurationSources(
      file: invocation.value("config"),
      environment: ProcessInfo.processInfo.environment,
      assignments: invocation.values("set")
    )
  }

  /// The configuration, and warnings in the log.
  static func configuration(_ invocation: CommandInvocation) throws -> PipelineConfiguration {
    try configuration(sources(invocation).load())
  }

  static func configuration(_ loaded: LoadedConfiguration) -> PipelineConfiguration {
    let log = CommandLog.plain(loaded.configuration)
    for variable in loaded.unknownVariables { log.write(.configUnknownVariable, variable.description) }
    return loaded.configuration
  }
}
