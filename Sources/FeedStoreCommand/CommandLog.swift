import FeedConfiguration
import FeedDaemon
import Service
import Synchronization

/// The log of this process, available once the configuration is known.
enum CommandLog {
  private static let current = Mutex<Log?>(nil)

  /// Creates the log. From then on, it also reports failures.
  static func make(_ configuration: FeedStoreConfiguration) -> Log {
    let log = plain(configuration)
    current.withLock { $0 = log }
    return log
  }

  /// A separate log for warnings about the configuration.
  static func plain(_ configuration: FeedStoreConfiguration) -> Log {
    Log(level: configuration.logLevel, format: configuration.logFormat)
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
