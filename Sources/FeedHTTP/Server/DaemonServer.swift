package import Changesets
package import Diagnostics
import Feed
import FeedClient
package import FeedConfiguration
package import FeedKafka
package import FeedStatus
import FeedStore
package import HTTP
import Kafka
package import OperatingSystem
import Settings
import Synchronization

/// A daemon's HTTP server: health, status and metrics, and feeds if configured.
package final class DaemonServer: Sendable {
  /// The status that the workers update.
  package let status: DaemonStatus
  /// The address on which it listens.
  package let url: String

  private let server: HTTPServer
  /// Nil if feeds are not served.
  private let feeds: FeedServer?
  private let log: Log

  /// How long clients may read their queued data when the server stops.
  private static let stopMilliseconds = 1_000

  /// Starts listening.
  ///
  /// - Parameters:
  ///   - tokens: the valid tokens, of which clients must send one.
  ///   - tls: the certificate for HTTPS; nil for plain HTTP.
  ///   - seed: differs from process to process; it determines the first partition in the order of standby.
  ///   - stop: once a stop is requested, the daemon reports that it is not ready.
  ///   - pause: waits before following is restarted after a failure; throws if the task is cancelled.
  /// - Throws: `HTTPServerError`.
  package init(
    _ configuration: FeedStoreConfiguration,
    _ settings: KafkaSettings,
    tokens: AcceptedTokens = AcceptedTokens(),
    tls: TLSCredentials? = nil,
    seed: UInt64 = 0,
    _ stop: StopRequest,
    _ log: Log,
    pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) throws(HTTPServerError) {
    let options = configuration.http
    self.log = log
    Self.report(tokens.verifier?.leftOut, log)
    let (served, continuation) = AsyncStream<Set<Int32>>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let written = options.servesFeeds && options.takesWrites ? configuration.store.topics.items : nil
    let status = DaemonStatus(workers: configuration.workers, written: written) { continuation.yield($0) }
    self.status = status
    feeds =
      options.servesFeeds
      ? FeedServer(configuration, settings, status, served: served, seed: seed, log, pause: pause) : nil
    if configuration.standby.isEnabled { status.standby = feeds?.follower }
    let started = StartedServer()
    let longestSilence = settings.maxPollMilliseconds
    let servedFeeds = feeds?.feeds
    let health: @Sendable () -> DaemonHealth = {
      var health = status.health(
        at: MonotonicClock.milliseconds(),
        longestSilence: longestSilence,
        isStopping: stop.isRequested
      )
      // A worker runs before its partitions count as restored here.
      if servedFeeds?.standing == .bootstrapping { health.noteReading() }
      if status.tokens?.failure != nil { health.noteBrokerToken() }
      if let keys = started.counters.tokenKeys, keys.keys == 0 { health.noteTokenKeys() }
      return health
    }
    var sharedIDs: (@Sendable () -> Int)?
    if let client = feeds?.feeds.client { sharedIDs = { client.subscriptions.sharedIDCount } }
    let streams = feeds?.streams
    let counters: @Sendable () -> HTTPCounters = {
      var counters = started.counters
      if let streams { (counters.streamedFeeds, counters.windows) = streams.counts }
      return counters
    }
    let metrics = DaemonMetrics(
      status: status,
      topics: configuration.store.topics,
      stateLimit: configuration.store.limits.maxStateBytes,
      sharedIDs: sharedIDs,
      health: health,
      http: counters
    )
    var router = HTTPRouter()
    OperationRoutes(
      feeds: feeds,
      status: status,
      planner: configuration.store.planner,
      instance: settings.clientID,
      health: health,
      counters: { started.counters },
      metrics: metrics,
      metricsWithoutToken: options.metricsWithoutToken
    ).add(to: &router)
    feeds?.add(to: &router)
    let server = try HTTPServer(
      HTTPServerConfiguration(options, tokens: tokens, tls: tls),
      router: router
    )
    started.server.withLock { $0 = server }
    self.server = server
    url = server.url
  }

  /// The follower of the served feeds; nil if none are served.
  package var follower: (any PartitionFollower)? { feeds?.follower }

  private static func report(_ leftOut: String?, _ log: Log) {
    guard let leftOut else { return }
    log.write(.httpKeysLeftOut, "keys of tokens cannot be used; the others are", ["keys": leftOut])
  }

  /// Fetches the keys of tokens when it is time, until the task is cancelled.
  private func keepKeys() async {
    repeat {
      server.tokens.verifier?.fetched?.fetchIfDue { [log] former, status in
        guard let failure = status.failure else {
          log.write(.httpKeysFetched, "keys of tokens fetched", ["url": status.url, "keys": status.keys])
          return status.leftOut == former.leftOut ? () : Self.report(status.leftOut, log)
        }
        let message =
          "keys of tokens were not fetched; "
          + (status.keys > 0 ? "the former ones are used for a day" : "tokens cannot be verified")
        log.write(.httpKeysNotFetched, message, ["error": failure])
      }
    } while (try? await Task.sleep(for: .seconds(1))) != nil
  }

  /// Replaces the tokens, even if only their files' content has changed.
  package func tokenPart(_ log: Log) -> UpdatablePart {
    let keys: Set = [
      "http.token", "http.tokenFile", "http.jwt.keys", "http.jwt.authority", "http.jwt.issuer",
      "http.jwt.audience", "http.jwt.claim", "http.jwt.read", "http.jwt.write", "http.jwt.contents",
      "http.jwt.leeway",
    ]
    return UpdatablePart(keys: keys) { [server] configuration in
      let options = configuration.http
      var tokens = try options.acceptedTokens()
      tokens.verifier?.takeKeys(of: server.tokens.verifier)
      // A reload does not change the address.
      var checked = server.configuration
      checked.tokens = tokens
      try HTTPServerError.explaining { () throws(HTTPServerError) in try HTTPServer.check(checked) }
      Self.report(tokens.verifier?.leftOut, log)
      var changed: [String] = []
      if tokens.bearer != server.tokens.bearer {
        changed.append(options.tokenFile.isEmpty ? "http.token" : "http.tokenFile")
      }
      if tokens.verifier != server.tokens.verifier { changed.append("http.jwt.keys") }
      let apply = { @Sendable [tokens] in
        server.replaceTokens(tokens)
        tokens.verifier?.fetched?.refresh()
      }
      return changed.isEmpty && tokens.verifier?.fetched == nil ? nil : (changed, apply)
    }
  }

  /// Replaces the certificate for new connections, even if only its files' content has changed.
  ///
  /// Enabling HTTPS, or requiring client certificates, needs a restart.
  package var certificatePart: UpdatablePart {
    guard let current = server.configuration.tls else {
      return UpdatablePart(keys: []) { configuration in
        // Checks the files now, so that the next restart does not fail.
        _ = try configuration.http.tlsCredentials()
        return nil
      }
    }
    var keys = ["http.tls.certificate", "http.tls.key"]
    if current.asksForCertificates { keys.append("http.tls.clientAuthority") }
    return UpdatablePart(keys: Set(keys)) { [server, keys] configuration in
      var options = configuration.http
      var tls = try options.tlsCredentials()
      if !current.asksForCertificates, !options.tlsClientAuthority.isEmpty {
        options.tlsClientAuthority = ""
        tls = try options.tlsCredentials()
      }
      guard let tls else {
        throw ConfigurationError(
          "http.tls.certificate is empty, and the daemon serves HTTPS; restart it to serve plain HTTP"
        )
      }
      guard tls != server.credentials else { return nil }
      try HTTPServerError.explaining { () throws(HTTPServerError) in try server.check(tls) }
      return (keys.filter { $0 != "http.tls.clientAuthority" }, { try server.replaceCredentials(tls) })
    }
  }

  /// Serves until the task is cancelled.
  package func run() async {
    async let _ = keepKeys()
    // The server's own threads answer requests.
    if let feeds {
      await feeds.run()
    } else {
      while (try? await Task.sleep(for: .seconds(3600))) != nil {}
    }
    await stop()
  }

  /// Blocks a separate thread until clients have read their queued data.
  private func stop() async {
    let thread = WorkerThread(name: "http-stop")
    defer { thread.stop() }
    await withTaskExecutorPreference(thread) { @concurrent in
      _ = server.stop(withinMilliseconds: Self.stopMilliseconds)
    }
  }
}

/// The server, for its routes, which are created first.
private final class StartedServer: Sendable {
  let server = Mutex<HTTPServer?>(nil)

  // Counted outside of the lock.
  var counters: HTTPCounters { server.withLock { $0 }?.counters ?? HTTPCounters() }
}

extension HTTPServerConfiguration {
  package init(_ options: HTTPOptions, tokens: AcceptedTokens, tls: TLSCredentials?) {
    self = options.server
    self.tokens = tokens
    self.tls = tls
    allowedOrigins = AllowedOrigins(options.allowedOrigins) ?? AllowedOrigins()
    if maxConnectionsPerAddress == 0 { maxConnectionsPerAddress = max(1, maxConnections / 4 * 3) }
    // Only routes of feeds accept content.
    head.contentBytes = options.servesFeeds ? options.maxRequestBytes : 0
  }
}

extension HTTPServerError {
  /// Throws the error of a body as ``configurationOrDaemonError``.
  fileprivate static func explaining(_ body: () throws(HTTPServerError) -> Void) throws {
    do throws(HTTPServerError) { try body() } catch { throw error.configurationOrDaemonError }
  }

  /// The error as a configuration error, if another start would fail in the same way.
  package var configurationOrDaemonError: any Error {
    switch code {
    case .tokenNeeded:
      ConfigurationError(
        "http.address: \(message); the keys are http.tokenFile, http.jwt.keys and http.tls.clientAuthority"
      )
    case .address, .token: ConfigurationError("http.address: \(message)")
    case .tokenKeys: ConfigurationError("http.jwt.keys: \(message)")
    case .certificate: ConfigurationError("http.tls.certificate: \(message)")
    case .key: ConfigurationError("http.tls.key: \(message)")
    case .clientAuthority: ConfigurationError("http.tls.clientAuthority: \(message)")
    case .portInUse, .denied: DaemonError(.http, "http.port: \(message)")
    case .openFiles, .system: DaemonError(.http, "http: \(message)")
    }
  }
}
