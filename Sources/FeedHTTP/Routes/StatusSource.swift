import Changesets
import Feed
import FeedClient
import FeedStore
import FeedWorker
import Service

/// Builds the answer to `GET /v1/status`.
struct StatusSource: Sendable {
  /// Nil if feeds are not served.
  let feeds: FeedServer?
  let status: DaemonStatus
  let planner: PlannerThresholds
  let instance: String
  let health: @Sendable () -> DaemonHealth
  let counters: @Sendable () -> HTTPCounters
  private let startedAt = WallClock.milliseconds()

  init(
    feeds: FeedServer?,
    status: DaemonStatus,
    planner: PlannerThresholds,
    instance: String,
    health: @escaping @Sendable () -> DaemonHealth,
    counters: @escaping @Sendable () -> HTTPCounters
  ) {
    self.feeds = feeds
    self.status = status
    self.planner = planner
    self.instance = instance
    self.health = health
    self.counters = counters
  }

  var document: FeedDocuments.Status {
    let health = health()
    let figures = status.figures
    return FeedDocuments.Status(
      version: Release.version,
      instance: instance,
      standing: feeds.map { FeedDocuments.name($0.feeds.standing) },
      startedAt: Timestamp.rfc3339(milliseconds: startedAt),
      ready: health.isReady,
      reasons: health.deaths + health.obstacles,
      workers: status.workers.map(FeedDocuments.Worker.init),
      partitions: partitions(figures),
      standby: status.standby.map { FeedDocuments.Standby($0.figures) },
      feeds: feeds.map { FeedDocuments.Totals($0.listing.feeds) } ?? FeedDocuments.Totals(figures.content),
      counters: FeedDocuments.Counters(figures.counters),
      http: FeedDocuments.Connections(counters()),
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

  private func partitions(_ figures: WorkerFigures) -> [FeedDocuments.Partition] {
    let lag = figures.lagByNumber
    guard let feeds else {
      return figures.partitions.sorted().map {
        FeedDocuments.Partition(partition: $0, standing: nil, position: nil, inputLag: lag[$0])
      }
    }
    let served = status.served.served
    return feeds.feeds.client.partitions.filter { served.contains($0.number) }.map {
      FeedDocuments.Partition(
        partition: $0.number,
        standing: FeedDocuments.name($0.standing),
        position: $0.position,
        inputLag: lag[$0.number]
      )
    }
  }
}
