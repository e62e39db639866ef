import Kafka
import ObservationSupport

@testable import FeedKafka

/// Another producer's open transaction, with a record in each of some partitions.
///
/// Unchecked: one thread at a time uses it.
final class ForeignTransaction: @unchecked Sendable {
  private let producer: TransactionalProducer

  private static let timeoutMilliseconds: Int32 = 120_000

  init(_ topics: TestTopics, _ places: [TopicPartition], key: String, value: String) throws {
    var configuration = topics.client
    configuration["transactional.id"] = topics.prefix + ".foreign"
    // The brokers' default maximum: it must not time out, however busy the machine is.
    configuration["transaction.timeout.ms"] = "900000"
    producer = try TransactionalProducer(configuration: configuration, log: { _, _, _ in })
    try producer.initTransactions(timeoutMilliseconds: Self.timeoutMilliseconds)
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
