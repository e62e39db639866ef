import FeedDaemon
import FeedTools
import FeedWorker
import Service

/// The `feedstore` command: finds the subcommand and turns errors into exit codes.
@main
enum FeedStoreCommand {
  private static var subcommands: [any Subcommand.Type] {
    [
      RunCommand.self, ConfigCommand.self, TopicsCommand.self, PublishCommand.self, FollowCommand.self,
      InspectCommand.self,
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
    } catch let error as UsageError {
      fail(error.description, .usage)
    } catch let error as ConfigurationError {
      fail(error.description, .usage)
    } catch let error as ReplayError where error.code == .cannotWrite && StandardOutput.isClosed {
      // The reader has read what it wanted.
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
