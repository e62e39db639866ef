import Diagnostics
import FeedConfiguration
import FeedStatus
import FoundationEssentials
import Glibc
import OperatingSystem
import Settings
import Synchronization

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

  /// The stop that a signal requests, for a command that then puts things in order, which may take some seconds.
  static func orderlyStop() -> StopRequest {
    StopRequest.process.grace.store(StopRequest.graceMilliseconds, ordering: .relaxed)
    return .process
  }
}

/// Handles the first SIGINT, SIGTERM or SIGHUP; a second one ends the process at once.
enum CommandStop {
  /// Requests a stop, and ends the process if that takes too long: a command that waits for brokers, for input or for the reader of
  /// its output may not notice.
  static func request(by signal: Int32) {
    let step = StandardOutput.step.load(ordering: .relaxed)
    // On another thread, because this one waits if standard error is full.
    SystemThread("stop") { end(step) }?.detach()
    // This line precedes the lines of the stop, unless standard error is full, which must not delay the stop.
    if !StopRequest.canWrite(to: 2) { StopRequest.process.request() }
    CommandLog.write(
      .shutdownRequested,
      "stop requested; a second signal ends the process at once",
      ["signal": signal]
    )
    StopRequest.process.request()
  }

  /// - Parameter step: the value of `StandardOutput.step` at the signal, to detect a reader that does not read.
  private static func end(_ step: Int) -> Never {
    let start = MonotonicClock.milliseconds()
    var limit: Int64
    repeat {
      usleep(50_000)
      let isBlocked = step % 2 == 1 && step == StandardOutput.step.load(ordering: .relaxed)
      limit = isBlocked ? StopRequest.briefMilliseconds : StopRequest.process.grace.load(ordering: .relaxed)
    } while MonotonicClock.milliseconds() - start < limit
    let records = StopRequest.process.records.load(ordering: .relaxed)
    if !StopRequest.canWrite(to: 2) {
      // No message can be written.
    } else if limit == StopRequest.graceMilliseconds {
      CommandLog.finish()
      CommandLog.write(
        .shutdownTimedOut,
        "could not stop in time; uncommitted input is read again at the next start",
        ["limit": LogFigure.duration(milliseconds: limit)]
      )
    } else {
      CommandLog.fail(records >= 0 ? "interrupted; records until then: \(records)" : "interrupted", .failed)
    }
    // Not `exit`, which waits for other threads.
    _exit(ExitCode.failed.rawValue)
  }
}
