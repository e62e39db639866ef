import FeedConfiguration
import FeedDaemon
import FoundationEssentials
import Glibc
import Service

/// One subcommand: its arguments and its action.
protocol Subcommand: SendableMetatype {
  static var specification: CommandSpecification { get }

  /// Runs the command to its end. The caller reports errors.
  static func run(_ invocation: CommandInvocation) async throws -> ExitCode
}

extension Subcommand {
  /// The configuration options that every subcommand accepts.
  static var configurationOptions: [OptionSpecification] {
    [
      .value("config", "FILE", help: "Configuration in JSON5; see config/feedstore.json5."),
      .repeated(
        "set",
        "KEY=VALUE",
        choices: FeedStoreConfiguration.keys.map { $0 + "=" },
        help: "Sets one key; overrides the file and the environment."
      ),
    ]
  }

  static func sources(_ invocation: CommandInvocation) -> ConfigurationSources {
    ConfigurationSources(
      file: invocation.value("config"),
      environment: ProcessInfo.processInfo.environment,
      assignments: invocation.values("set")
    )
  }

  /// Loads the configuration, and logs warnings about it.
  static func configuration(_ invocation: CommandInvocation) throws -> FeedStoreConfiguration {
    try configuration(sources(invocation).load())
  }

  static func configuration(_ loaded: LoadedConfiguration) -> FeedStoreConfiguration {
    let log = CommandLog.plain(loaded.configuration)
    for variable in loaded.unknownVariables { log.write(.configUnknownVariable, variable.description) }
    return loaded.configuration
  }

  /// Handles SIGINT, SIGTERM and SIGHUP: the first signal requests an orderly stop, and the second one ends the process
  /// at once.
  ///
  /// - Parameter onHangup: whether SIGHUP does so.
  static func stopOnSignals(_ log: Log, onHangup: Bool = true) -> StopRequest {
    let stop = StopRequest()
    ShutdownSignals.install(onHangup: onHangup) { signal in
      log.write(
        .shutdownRequested,
        "stop requested; a second signal ends the process at once",
        ["signal": signal]
      )
      stop.request()
      Task.detached {
        try await Task.sleep(for: .milliseconds(StopRequest.graceMilliseconds))
        log.finish()
        log.write(
          .shutdownTimedOut,
          "could not stop in time; uncommitted input is read again at the next start",
          ["limit": LogFigure.duration(milliseconds: StopRequest.graceMilliseconds)]
        )
        // Not `exit`, which waits for other threads.
        _exit(ExitCode.failed.rawValue)
      }
    }
    return stop
  }
}
