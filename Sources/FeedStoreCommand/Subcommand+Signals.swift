import FeedPipeline
import Glibc
import Service

extension Subcommand {
  /// Takes over SIGINT and SIGTERM: the first asks for a good end, which has its time; a second one ends the
  /// process at once.
  static func stopOnSignals(_ log: Log) -> StopRequest {
    let stop = StopRequest()
    _ = ShutdownSignals.install { signal in
      log.info("asked to stop; once more ends at once", ["signal": signal])
      stop.request()
      Task.detached {
        try await Task.sleep(for: .milliseconds(StopRequest.graceMilliseconds))
        log.error(
          "not done in time; what was not committed is read again on the next start",
          ["milliseconds": StopRequest.graceMilliseconds]
        )
        // Not through `exit`, which waits for others.
        _exit(ExitCode.failed.rawValue)
      }
    }
    return stop
  }
}
