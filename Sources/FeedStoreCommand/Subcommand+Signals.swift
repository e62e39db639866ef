import FeedDaemon
import Glibc
import Service

extension Subcommand {
  /// Handles SIGINT, SIGTERM and SIGHUP: the first signal requests an orderly stop, and the second one ends the process
  /// at once.
  ///
  /// - Parameter onHangup: whether SIGHUP does so.
  static func stopOnSignals(_ log: Log, onHangup: Bool = true) -> StopRequest {
    let stop = StopRequest()
    _ = ShutdownSignals.install(onHangup: onHangup) { signal in
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
