import FeedTestSupport
import Kafka
import ObservationSupport
import Testing

extension OnCluster {
  /// Transactions of other producers on the input.
  @Suite(.serialized) struct ForeignTransactionTests {
    private static let section = "{\"op\":\"section.upsert\",\"section\":\"s\"}"

    @Test(arguments: [true, false])
    func `records after an open transaction wait, and aborted ones are not applied`(
      isCommitted: Bool
    ) async throws {
      try await BrokerRun.on("foreign") { run in
        _ = try run.start()
        // All letters are sent to the same topic, so that one is after the other.
        let foreign = OracleFeedKey(partition: 0, id: Array("foreign".utf8))
        let behind = OracleFeedKey(partition: 0, id: Array("foreing".utf8))
        let elsewhere = OracleFeedKey(partition: 1, id: foreign.id)
        let place = TopicPartition(topic: run.load.topic(of: foreign.id), partition: 0)
        let transaction = try await run.onThread {
          try ForeignTransaction(run.topics, [place], key: "foreign", value: Self.section)
        }
        run.load.send(feed: "foreing", partition: 0, Self.section)
        try await run.wait("the input's arrival") { _ in run.load.isIdle }
        run.load.send(feed: "foreign", partition: 1, Self.section)
        try await run.wait("what is elsewhere") { $0.feeds[elsewhere] != nil }
        let isWaiting = run.observer.observation.feeds[behind] == nil
        try BrokerFailure.check(isWaiting, "a record behind an open transaction was applied")
        run.load.start()
        try await run.waitForRecords(100)
        try BrokerFailure.check(
          run.observer.observation.feeds[behind] == nil && run.observer.observation.feeds[foreign] == nil,
          "a record in or behind an open transaction was applied"
        )
        try await run.onThread { try transaction.end(isCommitted: isCommitted) }
        try await run.wait("what was behind") { $0.feeds[behind] != nil }
        let isThere = run.observer.observation.feeds[foreign] != nil
        try BrokerFailure.check(isThere == isCommitted, "committed: \(isCommitted), applied: \(isThere)")
      }
    }
  }
}
