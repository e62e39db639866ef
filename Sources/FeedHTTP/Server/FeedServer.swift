import Diagnostics
import Feed
import FeedClient
import FeedConfiguration
import FeedKafka
import FeedStatus
import FeedStore
import HTTP
import OperatingSystem
import Standby

/// Serves a daemon's feeds, as a part of ``DaemonServer``.
///
/// It follows the workers' partitions, and with standby those of others, like any other follower, so it serves committed data
/// only and does not access the stores. Workers restore partitions from its replicas (``StandbyFollower``).
///
/// If following fails, the server logs the failure, ends all streams, and restarts following until it succeeds. Meanwhile requests for feeds are answered with 503, and the daemon continues.
final class FeedServer: Sendable {
  let feeds: ServedFeeds
  let listing: FeedListing
  /// Decides which partitions are followed.
  let follower: StandbyFollower

  let streams: FeedStreams
  private let status: DaemonStatus
  /// Nil if clients may not write.
  private let writer: EventWriter?
  /// Nil if instances do not announce their addresses.
  private let directory: InstanceDirectory?
  private let log: Log
  private let pause: @Sendable (Duration) async throws -> Void
  /// The latest partitions of the workers, and the latest partitions to follow.
  private let served: AsyncStream<Set<Int32>>
  private let wanted: AsyncStream<Set<Int32>>

  /// The size of the reload cache, in bytes.
  private static let keptBytes = 64 << 20
  /// How often the addresses of moved partitions are refreshed.
  private static let lookSeconds = 30
  /// Creates a server. It serves feeds once ``run()`` has read them.
  ///
  /// - Parameters:
  ///   - status: provides the partitions to serve.
  ///   - served: the partitions to serve, after each change.
  ///   - seed: differs from process to process; it determines the first partition in the order of standby.
  ///   - pause: waits before following is restarted after a failure; throws if the task is cancelled.
  init(
    _ configuration: FeedStoreConfiguration,
    _ settings: KafkaSettings,
    _ status: DaemonStatus,
    served: AsyncStream<Set<Int32>>,
    seed: UInt64,
    _ log: Log,
    pause: @escaping @Sendable (Duration) async throws -> Void
  ) {
    let options = configuration.http
    let client = FeedClient(
      FeedClientOptions(
        kafka: settings.follower,
        topic: configuration.store.topics.changesets,
        partitions: [],
        // The workers wait for missing topics at the start; for later ones, the restarts after failures suffice.
        topicTimeout: .zero
      ),
      log: log.kafkaHandler
    )
    let reloads = ReloadCache(client, keptLimit: Self.keptBytes, limit: options.maxReloadBytes)
    listing = FeedListing(client)
    let (wanted, continuation) = AsyncStream<Set<Int32>>.makeStream(bufferingPolicy: .bufferingNewest(1))
    follower = StandbyFollower(
      client,
      servesFeeds: true,
      standbyBytes: configuration.standby.isEnabled ? configuration.standby.maxBytes : nil,
      seed: seed,
      log
    ) { continuation.yield($0) }
    self.wanted = wanted
    feeds = ServedFeeds(client: client, reloads: reloads, moved: MovedFeeds()) { status.served }
    streams = FeedStreams(feeds, options)
    self.status = status
    directory =
      options.advertisedURL.isEmpty
      ? nil : InstanceDirectory(settings.admin, group: settings.groupID, log: log)
    writer = options.takesWrites ? EventWriter(configuration, settings, status, client, directory, log) : nil
    self.log = log
    self.pause = pause
    self.served = served
  }

  /// Adds the routes of feeds and of rejected records, and the inspector.
  func add(to router: inout HTTPRouter) {
    FeedRoutes(feeds: feeds, listing: listing, streams: streams, writer: writer) { [status] in
      status.rejections
    }.add(to: &router)
    InspectorPage().add(to: &router)
  }

  /// Follows until the task is cancelled.
  func run() async {
    let encoders = StreamDelivery.StateSize.allCases.map { WorkerThread(name: "states-\($0)") }
    let (polls, writes) = (WorkerThread(name: "polls"), WorkerThread(name: "writes"))
    await withTaskGroup { group in
      group.addTask { await self.follow() }
      group.addTask { await self.streams.sendUpToDateNotices() }
      group.addTask { await self.streams.keepLooking() }
      for (size, thread) in zip(StreamDelivery.StateSize.allCases, encoders) {
        group.addTask(executorPreference: thread) { await self.streams.keepSendingStates(size) }
      }
      group.addTask(executorPreference: polls) { await self.streams.polls.keepAnswering() }
      if let writer { group.addTask(executorPreference: writes) { await writer.run() } }
      group.addTask { for await partitions in self.served { self.follower.serve(partitions) } }
      group.addTask { for await partitions in self.wanted { await self.follow(partitions) } }
      group.addTask { await self.keepLookingForMoved() }
      await group.waitForAll()
    }
    for thread in encoders + [polls, writes] { thread.stop() }
  }

  /// Follows until the task is cancelled, and restarts after each failure.
  private func follow() async {
    await feeds.client.keepRunning(beside: send, pause: pause) { failure, seconds in
      self.log.write(
        .httpFollowerFailed,
        "feed follower failed; feeds are unavailable over HTTP until it has restarted",
        ["error": failure, "pauseSeconds": seconds]
      )
      // Requests do not find the feeds any more, so no reader starts with a discarded state.
      self.follower.reset()
      self.feeds.reloads.removeAll()
      self.streams.reset(reason: "the follower failed; it reads its feeds again")
    }
  }

  @Sendable private func send() async {
    // The client reports this error, too.
    try? await streams.send()
  }

  /// Follows other partitions.
  private func follow(_ partitions: Set<Int32>) async {
    let (client, moved) = (feeds.client, feeds.moved)
    let gone = Set(client.partitions.map(\.number)).subtracting(partitions)
    moved.remove(partitions)
    if !gone.isEmpty {
      // Feeds of a partition that was not read to its end were not served.
      let feeds = client.feeds().filter { gone.contains($0.partition) && $0.standing != .bootstrapping }
        .map { (feed: ByteText($0.feed), partition: $0.partition) }
      moved.add(feeds)
      // When one member knows its assignment, the group has assigned all partitions.
      if !feeds.isEmpty { await lookForMoved() }
      streams.move(feeds) { moved.url(of: $0) }
    }
    client.follow(partitions: partitions)
  }

  /// Refreshes the addresses of moved partitions, which may move again.
  private func keepLookingForMoved() async {
    guard directory != nil else { return }
    while (try? await Task.sleep(for: .seconds(Self.lookSeconds))) != nil {
      if !feeds.moved.isEmpty { await lookForMoved() }
    }
  }

  private func lookForMoved() async {
    guard let directory else { return }
    feeds.moved.note(await SystemThread.run("instances") { directory.urls(youngerThan: 0) } ?? [:])
  }
}
