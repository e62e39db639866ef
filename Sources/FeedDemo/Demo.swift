package import Diagnostics
import Feed
package import FeedConfiguration
import FeedDaemon
import FeedKafka
import FeedStatus
import FeedStore
import FeedTools
import HTTP
package import OperatingSystem
import Settings

/// `feedstore demo`: a broker, the daemon, a sample history, and a follower that reads the changesets over the network,
/// all in one process. At the end, it compares the follower's replicas with the store.
package struct Demo: Sendable {
  package var configuration: FeedStoreConfiguration
  /// Replay files to play instead of the built-in history.
  package var inputs: [String]
  /// The speed, as a multiple of the recorded one.
  package var speed: Double
  /// Whether to repeat the history until a stop is requested.
  package var isLooping = false
  package var stop: StopRequest
  package var log: Log
  /// Prints a line for the user.
  package var tell: @Sendable (String) -> Void

  package init(
    _ configuration: FeedStoreConfiguration,
    inputs: [String] = [],
    speed: Double = 1,
    stop: StopRequest,
    log: Log,
    tell: @escaping @Sendable (String) -> Void
  ) {
    self.configuration = configuration
    self.inputs = inputs
    self.speed = speed
    self.stop = stop
    self.log = log
    self.tell = tell
  }

  /// Plays the history to its end, or until a stop is requested.
  ///
  /// - Throws: ``DaemonError``, ``ReplayError``, ``ConfigurationError``.
  package func run() async throws -> DemoReport {
    _ = try KafkaSettings(configuration.kafka, embedded: [])
    try ReplayReader(paths: inputs).checkPaths()
    let broker = try EmbeddedBroker(topics: configuration.store.topics, log: log)
    defer { broker.stop() }
    tell("A Kafka broker in this process listens at \(broker.bootstrapServers).")
    var configuration = configuration
    configuration.kafka = broker.properties + configuration.kafka

    let followerStop = StopRequest()
    let follower = DemoFollower(configuration, stop: followerStop, log: log, tell: tell)
    async let following = follower.run()
    do {
      let (published, daemon) = try await play(configuration, broker)
      followerStop.request()
      let followed = try await following
      let comparison = DemoComparison(store: daemon.feeds, replicas: followed.feeds)
      return DemoReport(published: published, daemon: daemon, comparison: comparison, faults: followed.faults)
    } catch {
      followerStop.request()
      throw error
    }
  }

  /// Runs the daemon while the history plays, and stops it once everything is applied.
  private func play(
    _ configuration: FeedStoreConfiguration,
    _ broker: EmbeddedBroker
  ) async throws -> (PublishReport, DaemonReport) {
    let (events, continuation) = AsyncStream<DaemonEvent>.makeStream(
      // Each commit event includes everything before it, so old events may be dropped.
      bufferingPolicy: .bufferingNewest(16)
    )
    // Opens the inspector on a feed that changes often.
    let feed = PercentEncoding.encode(DemoHistory.liveliestFeed)
    let fragment = inputs.isEmpty ? "#feed=\(feed)" : ""
    var daemon = Daemon(configuration, stop: stop, log: log) { [tell] event in
      if case .serving(let url) = event {
        tell("Open \(url)/\(fragment) in a browser to watch the feeds change.")
      }
      continuation.yield(event)
    }
    daemon.otherBroker = broker
    async let running = { [daemon] in
      // Ends the event stream if the daemon fails, so that its readers do not wait for ever.
      defer { continuation.finish() }
      return try await daemon.run()
    }()
    // The daemon must stop whenever this function returns.
    defer { stop.request() }

    tell("The daemon joins its group, which takes 3 s with this broker.")
    var iterator = events.makeAsyncIterator()
    var published = PublishReport()
    var publishing = configuration
    publishing.kafka.append(ConfigurationPair(name: "bootstrap.servers", value: broker.bootstrapServers))
    while let event = await iterator.next() {
      guard case .assigned = event else { continue }
      published = try await publish(publishing)
      while isLooping, !stop.isRequested { published = published.adding(try await publish(publishing)) }
      break
    }
    var applied = 0
    while applied < published.records, let event = await iterator.next() {
      if case .committed(let counters) = event { applied = counters.records }
    }
    stop.request()
    return (published, try await running)
  }

  private func publish(_ configuration: FeedStoreConfiguration) async throws -> PublishReport {
    var files = inputs
    // The history's times are shifted to now, so that no feed appears to be unchanged for days.
    let history = DemoHistory.text(from: WallClock.milliseconds(), speed: speed)
    let sample = inputs.isEmpty ? try DemoFile(history) : nil
    if let sample { files = [sample.path] }
    tell(
      inputs.isEmpty
        ? "Playing a history of five feeds: \(Quantity.count(DemoHistory.playedCount)) records.\n"
        : "\(inputs.joined(separator: ", ")) is played.\n"
    )
    var publisher = FilePublisher(configuration, inputs: files, speed: speed, stop: stop, log: log)
    publisher.showsProgress = false
    let report = try await publisher.run()
    withExtendedLifetime(sample) {}
    return report
  }
}
