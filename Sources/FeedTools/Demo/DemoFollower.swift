package import Diagnostics
package import FeedClient
package import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
package import OperatingSystem

/// Prints changesets and rejected records as they arrive; after a stop request, it first reads the rest.
package struct DemoFollower: Sendable {
  let configuration: FeedStoreConfiguration
  /// Requested after the last publication.
  let stop: StopRequest
  let log: Log
  /// Prints a line for the user.
  let tell: @Sendable (String) -> Void

  private static let pauseMilliseconds: Int32 = 50

  package init(
    _ configuration: FeedStoreConfiguration,
    stop: StopRequest,
    log: Log,
    tell: @escaping @Sendable (String) -> Void
  ) {
    self.configuration = configuration
    self.stop = stop
    self.log = log
    self.tell = tell
  }

  /// - Returns: the feeds at the end, and how often changesets of a feed were missed or did not apply.
  /// - Throws: ``ConfigurationError``; ``DaemonError``; `FeedClientError`.
  package func run() async throws -> (feeds: [FeedDescription], faults: Int) {
    // The session must outlast the request to stop.
    let session = try FollowSession(configuration, stop: StopRequest(), log: log)
    let options = SubscriptionOptions(
      slowPolicy: .pausesReading,
      hasSnapshots: false,
      hasDifferences: false,
      beginsWithHistory: true
    )
    let updates = session.client.updates(options)
    return try await session.run { client in
      async let faults = tellUpdates(updates)
      let ends = try await WorkerThread.withKafka("follower", configuration, followRejected)
      while !hasReached(ends, client.partitions) {
        if let deadline = stop.deadline, MonotonicClock.milliseconds() > deadline {
          let topic = configuration.store.topics.changesets
          throw DaemonError(.mismatch, "the follower did not reach the end of \(topic) in time")
        }
        try await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
      }
      client.stop()
      return (client.feeds(), try await faults)
    }
  }

  /// - Parameter ends: by partition.
  private func hasReached(_ ends: [Int64], _ partitions: [PartitionDescription]) -> Bool {
    partitions.count >= ends.count && zip(partitions, ends).allSatisfy { $0.position >= $1 }
  }

  /// - Returns: the number of losses.
  private func tellUpdates(_ updates: FeedUpdates) async throws -> Int {
    var faults = 0
    for try await update in updates {
      if case .mustRefetch = update { faults += 1 }
      tell(UpdateText(isColoured: false).line(update))
    }
    return faults
  }

  /// Prints rejected records until a stop is requested and all are printed.
  ///
  /// - Returns: the ends of the changesets topic at that time, by partition.
  @Sendable private func followRejected(_ settings: KafkaSettings) throws -> [Int64] {
    let reader = try TopicReader.ofRejected(settings, configuration, log: log)
    defer { try? reader.close() }
    let partitions = 0..<(try reader.partitionCount())
    var positions: [Int32: Int64] = [:]
    while true {
      let isLast = stop.isRequested
      var ranges: [Int32: Range<Int64>] = [:]
      for partition in partitions {
        let marks = try reader.watermarks(partition)
        ranges[partition] = max(marks.low, positions[partition] ?? 0)..<marks.high
        positions[partition] = marks.high
      }
      try reader.read(ranges) { message in
        let copy = RejectedCopy(message)
        let key = String(decoding: copy.key ?? [], as: UTF8.self)
        let details = "\(copy.code ?? "?"): \(copy.message ?? "?")"
        tell(UpdateText.printable(FollowLine.text("", key, "", "rejected", details)))
        return true
      }
      if isLast { break }
      try reader.wait(milliseconds: Self.pauseMilliseconds)
    }
    return try partitions.map { try reader.watermarks($0, of: configuration.store.topics.changesets).high }
  }
}
