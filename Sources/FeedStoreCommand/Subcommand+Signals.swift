import FeedPipeline
import Glibc
import Service

extension Subcommand {
  /// Takes over SIGINT and SIGTERM: the first asks for a good end, which has its time; a second one ends the
  /// process at once.
  static func stopOnSignals(_ log: Log) -> StopRequest {
    let stop = StopRequest()
    _ = ShutdownSignals.install { signal in
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
        // Not through `exit`, which waits for others.
        _exit(ExitCode.failed.rawValue)
      }
    }
    return stop
  }
}
