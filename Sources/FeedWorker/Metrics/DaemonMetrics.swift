package import FeedStore
package import Service

/// Puts together what `GET /metrics` answers (docs/http.md). Nothing in it grows with the number of feeds.
package struct DaemonMetrics: Sendable {
  let status: DaemonStatus
  let topics: TopicNames
  /// `limits.maxStateBytes`.
  let stateLimit: Int
  /// Ids that several of the partitions that are served have; nil if none are served.
  let sharedIDs: (@Sendable () -> Int)?
  let health: @Sendable () -> DaemonHealth
  let http: @Sendable () -> HTTPCounters

  package init(
    status: DaemonStatus,
    topics: TopicNames,
    stateLimit: Int,
    sharedIDs: (@Sendable () -> Int)?,
    health: @escaping @Sendable () -> DaemonHealth,
    http: @escaping @Sendable () -> HTTPCounters
  ) {
    self.status = status
    self.topics = topics
    self.stateLimit = stateLimit
    self.sharedIDs = sharedIDs
    self.health = health
    self.http = http
  }

  /// What there is now.
  package var families: [MetricFamily] {
    let workers = status.workers
    let figures = workers.map(\.figures)
    let sum = figures.reduce(into: WorkerFigures()) { $0.add($1) }
    return Self.build + readiness(figures, sum)
      + input(sum, waiting: workers.reduce(0) { $0 + $1.waitingRecords })
      + Self.output(sum) + Self.transactions(sum) + state(sum) + Self.restore(sum)
      + (status.standby.map { Self.standby($0.figures) } ?? []) + Self.clients(sum)
      + Self.http(http()) + Self.process(ProcessUsage.read())
  }

  static func family(
    _ kind: MetricKind,
    _ name: String,
    unit: String = "",
    _ help: String,
    _ add: (inout MetricFamily) -> Void
  ) -> MetricFamily {
    var family = MetricFamily(kind, name, unit: unit, help: help)
    add(&family)
    return family
  }

  static func one(
    _ kind: MetricKind,
    _ name: String,
    unit: String = "",
    _ help: String,
    _ value: some BinaryInteger
  ) -> MetricFamily {
    family(kind, name, unit: unit, help) { $0.add(value) }
  }
}
