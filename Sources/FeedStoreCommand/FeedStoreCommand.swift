import Diagnostics
import FeedConfiguration
import FeedStatus
import FeedTools
import OperatingSystem
import Settings
import Synchronization

/// The `feedstore` command: finds the subcommand and turns errors into exit codes.
@main
enum FeedStoreCommand {
  private static var subcommands: [any Subcommand.Type] {
    [
      RunCommand.self, ConfigCommand.self, TopicsCommand.self, DoctorCommand.self, PublishCommand.self,
      FollowCommand.self, InspectCommand.self, IngestCommand.self,
      ReplayCommand.self, VerifyCommand.self, DemoCommand.self,
      RejectsListCommand.self, RejectsShowCommand.self, RejectsPublishCommand.self,
      CompletionsCommand.self,
    ]
  }

  static let specification = CommandLineSpecification(
    "feedstore",
    version: Release.description,
    summary: "Maintains feeds of sections and items, and publishes their changes.",
    commands: subcommands.map { $0.specification }
  )

  static func main() async {
    StandardOutput.prepare()
    ShutdownSignals.ignoreBrokenPipes()
    ShutdownSignals.endOnAbort()
    // For every command, because the first process of a container receives only signals that it handles.
    ShutdownSignals.install(onHangup: true) { CommandStop.request(by: $0) }
    do {
      var code = ExitCode.done
      switch try specification.parse(CommandLine.arguments.dropFirst()) {
      case .print(let text): StandardOutput.write(text)
      case .run(let invocation):
        guard let subcommand = subcommands.first(where: { $0.specification.name == invocation.command.name })
        else {
          preconditionFailure("a command without a type")
        }
        code = try await subcommand.run(invocation)
        CommandLog.finish()
      }
      if let failure = StandardOutput.failure { throw failure }
      code.exit()
    } catch let error where error is UsageError || error is ConfigurationError {
      fail(String(describing: error), .usage)
    } catch let error as ReplayError where error.code == .cannotWrite && StandardOutput.isClosed {
      // The reader has read enough.
      ExitCode.done.exit()
    } catch {
      fail(String(describing: error), .failed)
    }
  }

  private static func fail(_ message: String, _ code: ExitCode) -> Never {
    CommandLog.fail(message, code)
    code.exit()
  }
}

/// The log of this process, available once the configuration is known.
enum CommandLog {
  private static let current = Mutex<Log?>(nil)

  /// Creates the log. From then on, it also reports failures.
  static func make(_ configuration: FeedStoreConfiguration) -> Log {
    let log = plain(configuration)
    current.withLock { $0 = log }
    if let bytes = ProcessUsage.addressSpaceBytes {
      log.write(
        .startupAddressSpaceLimited,
        "the address space is limited, and a library that gets no more ends the process; remove the limit (ulimit -v, LimitAS), and limit memory instead (MemoryMax, a container)",
        ["bytes": bytes]
      )
    }
    return log
  }

  /// A separate log for warnings about the configuration.
  static func plain(_ configuration: FeedStoreConfiguration) -> Log {
    Log(level: configuration.logLevel, format: configuration.logFormat)
  }

  /// Writes a line to the log, if there is one.
  static func write(_ event: LogEvent, _ message: String, _ fields: LogFields) {
    current.withLock { $0 }?.write(event, message, fields)
  }

  /// Writes the counts of suppressed lines. Call it when the command has finished.
  static func finish() { current.withLock { $0 }?.finish() }

  /// Reports why the command failed: in the log if its format is JSON, otherwise as a message on standard error.
  static func fail(_ message: String, _ code: ExitCode) {
    finish()
    if let log = current.withLock({ $0 }), log.format == .json {
      log.write(.shutdownFailed, message, ["exitCode": code.rawValue])
    } else {
      DiagnosticOutput.standardError.write(line: "feedstore: \(message)")
    }
  }
}
