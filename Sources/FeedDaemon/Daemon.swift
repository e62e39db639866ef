package import Diagnostics
import FeedClient
package import FeedConfiguration
import FeedHTTP
import FeedIngest
package import FeedKafka
package import FeedStatus
import FeedStore
package import FeedTransactions
import FeedWorker
import HTTP
import Kafka
package import OperatingSystem
import Settings
import Standby

/// `feedstore run`: maintains feeds from Kafka's input topics, and publishes their changes.
///
/// It keeps its state in memory. After a start or a rebalance, it restores the state from the changesets topic, and
/// continues with the input after the committed offsets.
package struct Daemon: Sendable {
  package var configuration: FeedStoreConfiguration
  /// Whether to run an embedded broker in this process.
  package var isEmbedded: Bool
  /// Whether it maps rows (`feedstore ingest`), and has no feeds; see ``FeedStoreConfiguration/ofIngest``.
  package var isIngesting = false
  package var stop: StopRequest
  package var log: Log
  /// The service manager to notify; nil if there is none.
  package var supervisor: SupervisorSocket?
  /// Applies changed settings to the running daemon; nil if reloading is not supported.
  package var updater: ConfigurationUpdater?
  /// The points where the process ends without warning; for tests.
  package var crash: CrashInjection?
  /// The embedded broker, if another component owns it.
  package var otherBroker: EmbeddedBroker?
  /// Changes the workers' shared state before they start; for tests.
  var changeEnvironment: @Sendable (inout WorkerEnvironment) -> Void = { _ in }
  /// Called on the workers' threads with each event.
  package var onEvent: @Sendable (DaemonEvent) -> Void

  package init(
    _ configuration: FeedStoreConfiguration,
    isEmbedded: Bool = false,
    stop: StopRequest,
    log: Log,
    onEvent: @escaping @Sendable (DaemonEvent) -> Void = { _ in }
  ) {
    self.configuration = configuration
    self.isEmbedded = isEmbedded
    self.stop = stop
    self.log = log
    self.onEvent = onEvent
  }

  /// Runs until a stop is requested, then publishes the pending changes, commits and leaves the group.
  ///
  /// - Throws: ``ConfigurationError`` for invalid settings; ``DaemonError`` with the cause and the remedy.
  package func run() async throws -> DaemonReport {
    var broker: EmbeddedBroker?
    if isEmbedded {
      // Checked before anything starts.
      _ = try KafkaSettings(configuration.kafka, embedded: [])
      broker = try EmbeddedBroker(
        topics: configuration.store.topics,
        others: configuration.ingest.topics,
        log: log
      )
    }
    defer { broker?.stop() }
    let mayEmbed = !isIngesting
    var settings = try KafkaSettings(configuration, embedded: broker?.properties, mayEmbed: mayEmbed)
    settings.isCounting = configuration.http.isEnabled
    // Writes over HTTP pass the same gate as other producers.
    settings.inputServers = (broker ?? otherBroker)?.bootstrapServers
    try settings.checkProperties()
    let process = ProcessIdentity(group: settings.groupID)
    let server = try makeServer(settings, process)
    addUpdatableParts(server)
    // Reported only now: readers of this line assume that the daemon has started.
    if let broker { onEvent(.listening(bootstrapServers: broker.bootstrapServers)) }
    if let server { onEvent(.serving(url: server.url)) }
    // These tasks are cancelled at the end of this scope, after the workers have published the pending changes.
    async let _ = server?.run()
    let status = server?.status ?? DaemonStatus(workers: configuration.workers)
    status.updater = updater
    status.tokens = settings.tokens
    let longestSilence = settings.maxPollMilliseconds
    async let _ = supervisor?.report(status, stop, longestSilence: longestSilence, updater)
    // A server follows the topic already.
    let standby = server?.follower == nil ? makeStandby(process, settings, status) : nil
    async let _ = follow(standby)
    var environment = WorkerEnvironment(status, stop: stop, log: log)
    environment.crash = crash
    environment.backlog = (broker ?? otherBroker)?.backlog
    environment.onEvent = onEvent
    environment.standby = server?.follower ?? standby?.follower
    changeEnvironment(&environment)
    if let topic = configuration.store.topics.contents, !isIngesting {
      environment.contents = ContentsReader(topic, configuration, settings, environment)
    }
    // The embedded broker has no settings.
    let check = isEmbedded ? nil : TopicCheck(settings, configuration.store, environment)
    async let _ = check?.run()
    return try await work(process, settings, environment)
  }

  /// A client that follows other partitions, and exchanges them with the workers; nil without standby.
  private func makeStandby(
    _ process: ProcessIdentity,
    _ settings: KafkaSettings,
    _ status: DaemonStatus
  ) -> (client: FeedClient, follower: StandbyFollower)? {
    guard configuration.standby.isEnabled else { return nil }
    let client = FeedClient(
      FeedClientOptions(
        kafka: settings.follower,
        topic: configuration.store.topics.changesets,
        partitions: [],
        topicTimeout: .milliseconds(configuration.startupTimeoutMilliseconds)
      ),
      log: log.kafkaHandler
    )
    let follower = StandbyFollower(
      client,
      servesFeeds: false,
      standbyBytes: configuration.standby.maxBytes,
      seed: process.fingerprint,
      log
    )
    status.standby = follower
    return (client, follower)
  }

  /// Follows until the task is cancelled.
  private func follow(_ standby: (client: FeedClient, follower: StandbyFollower)?) async {
    guard let standby else { return }
    await standby.client.keepRunning { failure, seconds in
      log.write(
        .standbyFollowerFailed,
        "standby follower failed; retrying after a pause",
        ["error": failure, "pauseSeconds": seconds]
      )
      standby.follower.reset()
    }
  }

  /// Runs all workers. If one fails, the others are asked to stop.
  private func work(
    _ process: ProcessIdentity,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment
  ) async throws -> DaemonReport {
    let count = configuration.workers
    let threads = (0..<count).map { WorkerThread(name: "worker-\($0)") }
    defer { for thread in threads { thread.stop() } }
    return try await withThrowingTaskGroup(of: DaemonReport.self) { group in
      for (number, thread) in threads.enumerated() {
        let identity = WorkerIdentity(number: number, count: count, process: process)
        let own = environment.logging(["worker": number])
        group.addTask(executorPreference: thread) { @concurrent in
          do {
            guard isIngesting else { return try await Worker(identity, configuration, settings, own).run() }
            try IngestWorker(identity, configuration, settings, own).run()
            return DaemonReport(own.status.statistics)
          } catch {
            stop.request()
            throw (error as? KafkaError)?.configurationOrDaemonError ?? error
          }
        }
      }
      return try await group.reduce(into: DaemonReport()) { $0.add($1) }
    }
  }

  /// Registers the parts that can apply changed settings. Other settings are only checked, so that a restart does not
  /// fail.
  private func addUpdatableParts(_ server: DaemonServer?) {
    guard let updater else { return }
    updater.add(
      UpdatablePart(keys: []) { [isEmbedded] configuration in
        try KafkaSettings(configuration, embedded: isEmbedded ? [] : nil, mayEmbed: true).checkProperties()
        return nil
      }
    )
    if let server {
      // First, because only a certificate may be refused when it is applied.
      updater.add(server.certificatePart)
      updater.add(server.tokenPart(log))
    }
  }

  private func makeServer(_ settings: KafkaSettings, _ process: ProcessIdentity) throws -> DaemonServer? {
    guard configuration.http.isEnabled else { return nil }
    let tokens = try configuration.http.acceptedTokens()
    let tls = try configuration.http.tlsCredentials()
    do throws(HTTPServerError) {
      return try DaemonServer(
        configuration,
        settings,
        tokens: tokens,
        tls: tls,
        seed: process.fingerprint,
        stop,
        log
      )
    } catch {
      throw error.configurationOrDaemonError
    }
  }
}

extension DaemonReport {
  /// The report as text, for standard error.
  package var text: String {
    guard rows == nil else { return ingestText }
    var table = ReportTable("run")
    table.add("records", count: counters.records)
    table.add("events", count: counters.events)
    table.add("feeds", count: feeds.count)
    table.add(counters)
    table.add("transactions", count: counters.flushes)
    table.add("bytes in", bytes: counters.inputBytes)
    table.add("bytes out", bytes: counters.outputBytes)
    return table.text
  }
}

extension FeedStoreConfiguration {
  /// The settings of `feedstore ingest`: another group, and transactions that do not fence the daemon's.
  package var ofIngest: FeedStoreConfiguration {
    var configuration = self
    configuration.kafka = kafka.filter { $0.name != "group.id" }.map { pair in
      pair.name == "transactional.id"
        ? ConfigurationPair(name: pair.name, value: "\(pair.value)-\(ingest.group)") : pair
    }
    configuration.kafka.append(ConfigurationPair(name: "group.id", value: ingest.group))
    configuration.http.servesFeeds = false
    configuration.standby.isEnabled = false
    configuration.workers = 1
    return configuration
  }

  /// Runs the checks of `feedstore run` that need no brokers.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the process's limits are too low for it.
  package func checkSettings() throws {
    // Without a broker's address, the daemon could start an embedded one.
    let hasServers = KafkaSettings.namesServers(kafka)
    try KafkaSettings(self, embedded: hasServers ? nil : []).checkProperties()
    guard http.isEnabled else { return }
    let tokens = try http.acceptedTokens()
    let tls = try http.tlsCredentials()
    do {
      try HTTPServer.check(HTTPServerConfiguration(http, tokens: tokens, tls: tls))
    } catch {
      throw error.configurationOrDaemonError
    }
  }
}
