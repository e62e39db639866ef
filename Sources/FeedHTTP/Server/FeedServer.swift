import Feed
import FeedClient
import FeedConfiguration
import FeedDaemon
import FeedKafka
import FeedStore
import Kafka
import Service
import Synchronization

/// Serves a daemon's feeds, as a part of ``DaemonServer``.
///
/// It follows the partitions that the workers have, as any other follower would: what is served was committed,
/// and the stores have nothing to do with readers. If following fails, that is logged, streams end, and requests
/// are answered 503 until all was read anew, which is tried again and again; the daemon goes on.
final class FeedServer: Sendable {
  let feeds: ServedFeeds
  let listing: FeedListing

  private let client: FeedClient
  private let reloads: ReloadCache
  private let streams: FeedStreams
  private let moved: MovedFeeds
  /// Nil where instances do not tell each other where they are.
  private let directory: InstanceDirectory?
  private let log: Log
  private let pause: @Sendable (Duration) async throws -> Void
  /// The newest partitions to serve.
  private let served: AsyncStream<Set<Int32>>

  /// Bytes of feeds that are kept as they are sent as a whole.
  private static let keptBytes = 64 << 20
  /// How often it is asked where partitions went, as long as some did.
  private static let lookSeconds = 30
  /// Feeds are served once they are followed.
  ///
  /// - Parameters:
  ///   - status: tells which partitions to serve.
  ///   - served: the partitions to serve, each time they change.
  ///   - pause: waits before feeds are followed again after a failure; it throws when the task is cancelled.
  init(
    _ configuration: PipelineConfiguration,
    _ settings: KafkaSettings,
    _ status: DaemonStatus,
    served: AsyncStream<Set<Int32>>,
    _ log: Log,
    pause: @escaping @Sendable (Duration) async throws -> Void
  ) {
    let options = configuration.http
    let client = FeedClient(
      FeedClientOptions(
        kafka: settings.follower,
        topic: configuration.store.topics.changesets,
        partitions: [],
        // The workers wait for topics; what goes missing later, the pauses between two attempts are for.
        topicTimeout: .zero
      ),
      log: log.kafkaHandler
    )
    let reloads = ReloadCache(client, keptLimit: Self.keptBytes, limit: options.maxReloadBytes)
    let streams = FeedStreams(client, reloads, maxHistoryBytes: options.maxHistoryBytes)
    let moved = MovedFeeds()
    listing = FeedListing(client)
    feeds = ServedFeeds(client: client, reloads: reloads, moved: moved) { status.served }
    self.client = client
    self.reloads = reloads
    self.streams = streams
    self.moved = moved
    directory =
      options.advertisedURL.isEmpty
      ? nil : InstanceDirectory(settings.admin, group: settings.groupID, log: log)
    self.log = log
    self.pause = pause
    self.served = served
  }

  /// Adds the routes of feeds, and the inspector.
  func add(to router: inout HTTPRouter) {
    FeedRoutes(feeds: feeds, listing: listing, streams: streams).add(to: &router)
    InspectorPage().add(to: &router)
  }

  /// Follows until the task is cancelled.
  func run() async {
    await withTaskGroup { group in
      group.addTask { await self.follow() }
      group.addTask { await self.streams.tellWhoIsUpToDate() }
      group.addTask { for await partitions in self.served { await self.serve(partitions) } }
      group.addTask { await self.lookForMoved() }
      await group.waitForAll()
    }
    directory?.stop()
  }

  /// Follows until the task is cancelled; after each failure from a fresh start.
  private func follow() async {
    var pauses = FollowPause()
    while true {
      let start = MonotonicClock.milliseconds()
      async let sending: Void = send()
      let failure = await runClient()
      await sending
      guard let failure else { return }
      let seconds = pauses.seconds(afterFollowing: MonotonicClock.milliseconds() - start)
      log.write(
        .httpFollowerFailed,
        "feed follower failed; feeds are unavailable over HTTP until it has restarted",
        ["error": failure, "pauseSeconds": seconds]
      )
      // In this order: from the first on, feeds are not there, and then nobody is left who was told of them.
      client.reset()
      reloads.removeAll()
      streams.reset(reason: "the follower failed; it reads its feeds again")
      do { try await pause(.seconds(seconds)) } catch { return }
    }
  }

  /// Why the client failed; nil if the task was cancelled.
  private func runClient() async -> FeedClientError? {
    do throws(FeedClientError) {
      try await client.run()
      return nil
    } catch {
      return error
    }
  }

  private func send() async {
    // It ends as the client does, which says why.
    try? await streams.send()
  }

  /// Follows other partitions than before.
  private func serve(_ partitions: Set<Int32>) async {
    let gone = Set(client.partitions.map(\.number)).subtracting(partitions)
    moved.remove(partitions)
    if !gone.isEmpty {
      let feeds = client.feeds().filter { gone.contains($0.partition) }
        .map { (feed: ByteText($0.feed), partition: $0.partition) }
      moved.add(feeds)
      // The group has given out all partitions when one member knows its own.
      if !feeds.isEmpty, let directory { moved.note(await directory.urls() ?? [:]) }
      streams.move(feeds) { moved.url(of: $0) }
    }
    client.follow(partitions: partitions)
  }

  /// Keeps the addresses of partitions that went true, as these may go on from instance to instance.
  private func lookForMoved() async {
    guard let directory else { return }
    while (try? await Task.sleep(for: .seconds(Self.lookSeconds))) != nil {
      if !moved.isEmpty { moved.note(await directory.urls() ?? [:]) }
    }
  }
}
