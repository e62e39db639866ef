package import FeedConfiguration
import FeedHTTP
import FeedIngest
import FeedKafka
package import FeedWorker
package import Service

/// `feedstore ingest`: maps rows of the sources' topics to records of feeds, exactly once.
package struct Ingest: Sendable {
  private var daemon: Daemon

  /// - Parameter crash: where the process ends without warning; for tests.
  package init(_ configuration: FeedStoreConfiguration, stop: StopRequest, log: Log, crash: CrashInjection?) {
    var configuration = configuration
    // Its own group, and transactions that do not fence the daemon's.
    let group = configuration.ingest.group
    configuration.kafka = configuration.kafka.filter { $0.name != "group.id" }.map { pair in
      pair.name == "transactional.id"
        ? ConfigurationPair(name: pair.name, value: "\(pair.value)-\(group)") : pair
    }
    configuration.kafka.append(ConfigurationPair(name: "group.id", value: group))
    configuration.http.servesFeeds = false
    configuration.standby.isEnabled = false
    daemon = Daemon(configuration, stop: stop, log: log)
    daemon.crash = crash
  }

  /// Runs until a stop is requested, and commits what was mapped.
  ///
  /// - Returns: the report, for standard error.
  /// - Throws: ``ConfigurationError``; ``DaemonError`` with the cause and the remedy.
  package func run() async throws -> String {
    let (configuration, stop, log) = (daemon.configuration, daemon.stop, daemon.log)
    let settings = try KafkaSettings(configuration)
    try settings.checkProperties()
    let process = ProcessIdentity(group: settings.groupID)
    let server = try daemon.makeServer(settings, process)
    if let server { log.write(.httpServing, "serving HTTP", ["url": server.url]) }
    async let _ = server?.run()
    let environment = WorkerEnvironment(
      stop: stop,
      log: log,
      crash: daemon.crash,
      status: server?.status ?? DaemonStatus(),
      backlog: nil,
      coarseClock: daemon.coarseClock,
      onEvent: { _ in }
    )
    async let _ = TopicCheck(settings, configuration.store, environment).run()
    let thread = WorkerThread(name: "ingest")
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in
      let identity = WorkerIdentity(number: 0, count: 1, process: process)
      let worker = try IngestWorker(identity, configuration, settings, environment)
      try worker.run()
      return environment.status.statistics.ingestText
    }
  }
}
