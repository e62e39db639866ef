import Feed
import FeedStore
import Kafka
import Service

/// A daemon's HTTP listener: health, status and metrics, and feeds where they are wanted.
final class DaemonServer: Sendable {
  /// To be told by the workers.
  let status: DaemonStatus
  /// Where it listens.
  let url: String

  private let server: HTTPServer
  /// Nil where feeds are not served.
  private let feeds: FeedServer?

  /// How long clients have, at the end, to read what is queued for them.
  private static let stopMilliseconds = 1_000

  /// Begins to listen.
  ///
  /// - Parameters:
  ///   - token: what clients must show; nil for none.
  ///   - tls: what HTTPS is served with; nil for plain HTTP.
  ///   - stop: from when it is requested on, the daemon is not ready.
  ///   - pause: waits before feeds are followed again after a failure; it throws when the task is cancelled.
  /// - Throws: `HTTPServerError`.
  init(
    _ configuration: PipelineConfiguration,
    _ settings: KafkaSettings,
    token: BearerToken?,
    tls: TLSCredentials? = nil,
    _ stop: StopRequest,
    _ log: Log,
    pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) throws(HTTPServerError) {
    let options = configuration.http
    let (served, continuation) = AsyncStream<Set<Int32>>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let status = DaemonStatus(workers: configuration.workers) { continuation.yield($0) }
    self.status = status
    feeds =
      options.servesFeeds
      ? FeedServer(configuration, settings, status, served: served, log, pause: pause) : nil
    let counters = LateValue(HTTPCounters())
    let longestSilence = settings.maxPollMilliseconds
    let health: @Sendable () -> DaemonHealth = {
      status.health(
        at: MonotonicClock.milliseconds(),
        longestSilence: longestSilence,
        isStopping: stop.isRequested
      )
    }
    let source = StatusSource(
      feeds: feeds,
      status: status,
      planner: configuration.store.planner,
      instance: settings.clientID,
      health: health,
      counters: { counters.value }
    )
    let metrics = DaemonMetrics(
      status: status,
      topics: configuration.store.topics,
      stateLimit: configuration.store.limits.maxStateBytes,
      health: health,
      http: { counters.value }
    )
    var router = HTTPRouter()
    OperationRoutes(
      health: health,
      status: { source.document },
      metrics: { metrics.families },
      metricsWithoutToken: options.metricsWithoutToken
    ).add(to: &router)
    feeds?.add(to: &router)
    let server = try HTTPServer(HTTPServerConfiguration(options, token: token, tls: tls), router: router)
    counters.provide { server.counters }
    self.server = server
    url = server.url
  }

  /// Shows another certificate to new connections: what the files of the configuration have now.
  ///
  /// - Throws: ``ConfigurationError`` or `HTTPServerError`; the earlier one stays then.
  func reloadCertificate(_ options: HTTPOptions) throws {
    if let tls = try options.tlsCredentials() { try server.replaceCredentials(tls) }
  }

  /// Serves until the task is cancelled.
  func run() async {
    if let feeds {
      await feeds.run()
    } else {
      // Requests are answered on the server's own threads.
      while (try? await Task.sleep(for: .seconds(3600))) != nil {}
    }
    await stop()
  }

  /// Blocks a thread of its own until clients have what is theirs.
  private func stop() async {
    let thread = WorkerThread(name: "http-stop")
    defer { thread.stop() }
    await withTaskExecutorPreference(thread) { @concurrent in
      _ = server.stop(withinMilliseconds: Self.stopMilliseconds)
    }
  }
}
