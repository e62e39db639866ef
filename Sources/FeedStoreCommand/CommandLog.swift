import FeedConfiguration
import FeedPipeline
import Service
import Synchronization

/// The log of this process, once its configuration says how it is written.
enum CommandLog {
  private static let current = Mutex<Log?>(nil)

  /// Makes it. From then on a failure is said in it, too.
  static func make(_ configuration: PipelineConfiguration) -> Log {
    let log = plain(configuration)
    current.withLock { $0 = log }
    return log
  }

  /// One that is no log of a run: for what is noticed about the configuration.
  static func plain(_ configuration: PipelineConfiguration) -> Log {
    Log(level: configuration.logLevel, format: configuration.logFormat)
  }

  /// Writes what was counted until now; to be called when the command is done.
  static func finish() { current.withLock { $0 }?.finish() }

  /// Says why the command failed: in the log if that is JSON, and otherwise as commands do.
  static func fail(_ message: String, _ code: ExitCode) {
    finish()
    if let log = current.withLock({ $0 }), log.format == .json {
      log.write(.shutdownFailed, message, ["exitCode": code.rawValue])
    } else {
      DiagnosticOutput.standardError.write(line: "feedstore: \(message)")
    }
  }
}
