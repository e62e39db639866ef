import Kafka
import ObservationSupport
import Oracle
import Testing

@testable import FeedKafka

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

/// Another producer's open transaction, with a record in each of some partitions.
///
/// Unchecked: one thread at a time uses it.
final class ForeignTransaction: @unchecked Sendable {
  private let producer: TransactionalProducer

  private static let timeoutMilliseconds: Int32 = 120_000

  /// A coordinator that loads its log needs another request.
  private static func start(_ producer: TransactionalProducer) throws {
    let giveUp = ContinuousClock.now + .milliseconds(timeoutMilliseconds)
    while true {
      do {
        return try producer.initTransactions(timeoutMilliseconds: timeoutMilliseconds)
      } catch {
        guard error.isRetriable, ContinuousClock.now < giveUp else { throw error }
      }
    }
  }

  init(_ topics: TestTopics, _ places: [TopicPartition], key: String, value: String) throws {
    var configuration = topics.client
    configuration["transactional.id"] = topics.prefix + ".foreign"
    // The brokers' default maximum: it must not time out, however busy the machine is.
    configuration["transaction.timeout.ms"] = "900000"
    producer = try TransactionalProducer(configuration: configuration, log: { _, _, _ in })
    try Self.start(producer)
    try producer.begin()
    let key = OwnedBytes(Array(key.utf8))
    let value = OwnedBytes(Array(value.utf8))
    for place in places {
      try producer.produce(topic: place.topic, partition: place.partition, key: key.bytes, value: value.bytes)
    }
    try producer.flush(timeoutMilliseconds: Self.timeoutMilliseconds)
    let errors = producer.takeDeliveryErrors()
    try BrokerFailure.check(errors.isEmpty, "\(errors.errors)")
  }

  func end(isCommitted: Bool) throws {
    if isCommitted {
      try producer.commit(timeoutMilliseconds: Self.timeoutMilliseconds)
    } else {
      try producer.abort(timeoutMilliseconds: Self.timeoutMilliseconds)
    }
    try producer.close(timeoutMilliseconds: Self.timeoutMilliseconds)
  }
}
