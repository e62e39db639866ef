package import FeedKafka

/// Whether the daemon is alive and ready, with the reasons if not.
///
/// It is alive as long as every worker returns to its loop. It is ready when every worker has its share of the partitions,
/// perhaps empty, and has restored their feeds, unless the topics' partitions have changed since the start.
package struct DaemonHealth: Equatable {
  /// Why the daemon is not alive or not ready.
  package struct Reason: Equatable, Encodable {
    /// A stable word.
    package let code: String
    /// The worker's number; nil for the whole process.
    package var worker: Int?
    /// A sentence for users.
    package let detail: String
  }

  /// The inspected values of a worker; the silence is the time since its last loop, in milliseconds.
  package typealias Worker = (number: Int, silence: Int64, statistics: WorkerStatistics)

  /// Why it is not alive; empty if it is.
  package private(set) var deaths: [Reason] = []
  /// Why it is not ready; empty if it is.
  package private(set) var obstacles: [Reason] = []
  /// The outcomes of the rows of `feedstore ingest`, by topic.
  package private(set) var rows: [String: [String: Int]] = [:]
  /// Whether all automatic work is done: the rest needs an operator.
  private(set) var isStarted = true

  /// - Parameters:
  ///   - topics: the topics whose partitions have changed.
  ///   - longestSilence: the maximum time between two loops of a worker, in milliseconds.
  ///   - isStopping: whether a stop was requested.
  package init(
    _ workers: [Worker],
    topics: [TopicChanges.Change] = [],
    longestSilence: Int64,
    isStopping: Bool
  ) {
    for worker in workers {
      if worker.silence > longestSilence { deaths.append(Self.death(worker)) }
      if isStopping {
        obstacles.append(Self.reason("stopping", worker, "the daemon was asked to stop"))
      } else if let obstacle = Self.obstacle(worker) {
        obstacles.append(obstacle)
      }
      if worker.statistics.phase != .running { isStarted = false }
      rows.merge(worker.statistics.rows) { $0.merging($1, uniquingKeysWith: +) }
    }
    if isStopping {
      isStarted = false
    } else {
      obstacles += topics.map { Reason(code: Self.changedTopic, detail: $0.description) }
    }
  }

  static let changedTopic = "partitions-changed"

  /// The feeds of a restored partition cannot be served over HTTP yet.
  package mutating func noteReading() {
    guard obstacles.isEmpty else { return }
    obstacles = [Reason(code: "reading", detail: "restored feeds are read once more, to be served over HTTP")]
  }

  /// Tokens cannot be verified, because their keys were not fetched. The cause may have secrets, such as a redirect's target.
  package mutating func noteTokenKeys() {
    let detail = "the keys of tokens were not fetched; /v1/status says why"
    obstacles.append(Reason(code: "token-keys", detail: detail))
  }

  /// The contents topic is not read to its end, which may be why it is not ready.
  fileprivate mutating func noteContents(remaining: Int64) {
    if isReady || remaining == 0 { return }
    let detail =
      "restored feeds wait for the contents that they show; \(remaining) records of topics.contents remain"
    obstacles.append(Reason(code: "contents", detail: detail))
  }

  /// The last attempt to get a token for the brokers has failed, which may be why it is not ready. The cause may have secrets.
  package mutating func noteBrokerToken() {
    guard !isReady else { return }
    let detail = "there is no new token for the brokers; brokerTokenFailure of /v1/status says why"
    obstacles.append(Reason(code: "broker-token", detail: detail))
  }

  var isLive: Bool { deaths.isEmpty }
  package var isReady: Bool { obstacles.isEmpty }

  private static func death(_ worker: Worker) -> Reason {
    reason(
      "worker-hangs",
      worker,
      "worker \(worker.number) has not returned to its loop for \(worker.silence / 1_000) s"
    )
  }

  private static func obstacle(_ worker: Worker) -> Reason? {
    let statistics = worker.statistics
    switch statistics.phase {
    case .starting:
      return reason("starting", worker, "worker \(worker.number) waits for Kafka to describe its topics")
    case .joining:
      return reason("joining", worker, "worker \(worker.number) waits for its share of the partitions")
    case .restoring:
      return reason(
        "restoring",
        worker,
        "worker \(worker.number) restores the feeds of \(counted(statistics.partitions)); "
          + "\(statistics.restore.remaining) records remain"
      )
    case .running:
      guard !statistics.stopped.isEmpty else { return nil }
      return reason(
        "stopped",
        worker,
        "worker \(worker.number) could not restore the feeds of \(list(statistics.stopped)); the log says why"
      )
    }
  }

  private static func reason(_ code: String, _ worker: Worker, _ detail: String) -> Reason {
    Reason(code: code, worker: worker.number, detail: detail)
  }

  private static func counted(_ partitions: Set<Int32>) -> String {
    partitions.count == 1 ? "1 partition" : "\(partitions.count) partitions"
  }

  private static func list(_ partitions: Set<Int32>) -> String {
    let numbers = partitions.sorted().prefix(mostListed).map(String.init).joined(separator: ", ")
    let rest = partitions.count > mostListed ? " and \(partitions.count - mostListed) more" : ""
    return (partitions.count == 1 ? "partition " : "partitions ") + numbers + rest
  }

  private static let mostListed = 10
}

extension DaemonStatus {
  /// The current health.
  ///
  /// - Parameters:
  ///   - now: milliseconds of the monotonic clock.
  ///   - longestSilence: the maximum time between two loops of a worker, in milliseconds.
  package func health(at now: Int64, longestSilence: Int64, isStopping: Bool) -> DaemonHealth {
    let views = workers.map { ($0.number, $0.silence(at: now), $0.statistics) }
    var health = DaemonHealth(
      views,
      topics: topicChanges,
      longestSilence: longestSilence,
      isStopping: isStopping
    )
    if !isStopping { health.noteContents(remaining: contents?.remaining ?? 0) }
    return health
  }
}
