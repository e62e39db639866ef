import Feed
import FeedKafka
import FeedStore
import FeedTools
import Kafka
import Service

/// Follows the changesets on a separate thread and prints them. After a stop is requested, it first reads everything
/// that is left.
struct DemoFollower: Sendable {
  let settings: KafkaSettings
  let topics: TopicNames
  /// Requested once nothing more will be published.
  let stop: StopRequest
  let log: Log
  /// Prints a line for the user.
  let tell: @Sendable (String) -> Void

  struct Result: Sendable {
    var replicas: [ReplicaSummary] = []
    var faults = 0
  }

  private static let pollMilliseconds: Int32 = 50

  func run() async throws -> Result {
    let thread = WorkerThread(name: "follower")
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in try follow() }
  }

  private func follow() throws -> Result {
    let follower = try Follower(settings, topics: topics, log: log.kafkaHandler)
    defer { try? follower.close() }
    var result = Result()
    var ends: [TopicPartition: Int64]?
    while true {
      try follower.poll(timeoutMilliseconds: Self.pollMilliseconds) { record in
        if let text = record.text { tell(text) }
        if record.isFault { result.faults += 1 }
      }
      if ends == nil, stop.isRequested { ends = try follower.ends() }
      if let ends, follower.hasReached(ends) { break }
      if let deadline = stop.deadline, MonotonicClock.milliseconds() > deadline {
        throw DaemonError(.mismatch, "the follower did not reach the end of \(topics.changesets) in time")
      }
    }
    result.replicas = follower.summaries
    return result
  }
}
