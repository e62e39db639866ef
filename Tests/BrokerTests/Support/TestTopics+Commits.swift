import Kafka
import ObservationSupport

extension TestTopics {
  private static let askMilliseconds: Int32 = 30_000

  /// Waits until the group has committed all that there is to read.
  ///
  /// - Parameters:
  ///   - ends: the offsets to be committed.
  ///   - check: throws if it is no use to wait.
  /// - Returns: what is committed, of those partitions that have something to read.
  /// - Throws: ``BrokerFailure`` after ten minutes.
  @discardableResult
  func waitForCommits(
    _ ends: [TopicPartition: Int64],
    check: () throws -> Void
  ) throws -> [TopicPartition: CommittedOffset] {
    var configuration = client
    configuration["group.id"] = prefix
    let consumer = try Consumer(
      configuration: configuration,
      isolationLevel: .readCommitted,
      log: { _, _, _ in }
    )
    defer { try? consumer.close(timeoutMilliseconds: Self.askMilliseconds) }
    let batch = consumer.makeBatch(capacity: 1)
    let deadline = ContinuousClock.now + .seconds(600)
    var left = ends.filter { $0.value > 0 }
    var result: [TopicPartition: CommittedOffset] = [:]
    while !left.isEmpty {
      try BrokerFailure.check(ContinuousClock.now < deadline, "the group has not committed \(left)")
      try check()
      do throws(KafkaError) {
        let committed = try consumer.committed(Array(left.keys), timeoutMilliseconds: Self.askMilliseconds)
        result.merge(committed) { $1 }
        left = left.filter { committed[$0.key]?.offset ?? 0 < $0.value }
      } catch {
        // Offsets of a transaction that is open are not told.
        if !error.isRetriable { throw error }
      }
      try consumer.poll(into: batch, timeoutMilliseconds: 100)
    }
    return result
  }
}
