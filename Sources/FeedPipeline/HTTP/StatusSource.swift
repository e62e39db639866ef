import Feed
import FeedClient
import Service
import Synchronization

/// Puts together what `GET /v1/status` answers.
final class StatusSource: Sendable {
  private let client: FeedClient
  private let feeds: ServedFeeds
  private let listing: FeedListing
  private let status: DaemonStatus
  private let planner: PlannerThresholds
  private let instance: String
  private let startedAt = WallClock.milliseconds()
  /// The server, once there is one: its routes are made before it.
  let server = Mutex<HTTPServer?>(nil)

  init(
    client: FeedClient,
    feeds: ServedFeeds,
    listing: FeedListing,
    status: DaemonStatus,
    planner: PlannerThresholds,
    instance: String
  ) {
    self.client = client
    self.feeds = feeds
    self.listing = listing
    self.status = status
    self.planner = planner
    self.instance = instance
  }

  var document: FeedDocuments.Status {
    let lag = status.inputLag
    return FeedDocuments.Status(
      version: Release.version,
      instance: instance,
      standing: FeedDocuments.name(feeds.standing),
      startedAt: Timestamp.rfc3339(milliseconds: startedAt),
      partitions: client.partitions.map {
        FeedDocuments.Partition(
          partition: $0.number,
          standing: FeedDocuments.name($0.standing),
          position: $0.position,
          inputLag: lag[$0.number]
        )
      },
      feeds: FeedDocuments.Totals(listing.feeds),
      counters: FeedDocuments.Counters(status.counters),
      http: FeedDocuments.Connections(server.withLock { $0?.counters } ?? HTTPCounters()),
      planner: FeedDocuments.Planner(
        maxChanges: planner.maxChanges,
        maxChangedFraction: planner.maxChangedFraction,
        minimumItems: planner.minimumItems,
        maxKindFraction: planner.maxKindFraction,
        maxReloadRatio: planner.maxReloadRatio,
        maxBytesRatio: planner.maxBytesRatio
      )
    )
  }
}
