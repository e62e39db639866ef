import FeedPipeline
import Service

extension Subcommand {
  /// Takes over SIGINT and SIGTERM: the first asks for a good end, a second one ends the process at once.
  static func stopOnSignals(_ log: Log) -> StopRequest {
    let stop = StopRequest()
    _ = ShutdownSignals.install { signal in
      log.info("asked to stop; once more ends at once", ["signal": signal])
      stop.request()
    }
    return stop
  }
}
