import FeedStore
import Kafka
import ObservationSupport

@testable import FeedKafka

extension TestTopics {
  /// Sends item records, outside of transactions.
  ///
  /// - Parameter record: returns partition, key and value of a record by its number.
  func produce(_ count: Int, _ record: (Int) -> (partition: Int32, key: String, value: String)) throws {
    let producer = try Producer(configuration: client, log: { _, _, _ in })
    for number in 0..<count {
      let (partition, key, value) = record(number)
      try produce(OwnedBytes(Array(key.utf8)), OwnedBytes(Array(value.utf8)), to: partition, producer)
    }
    try flush(producer)
    let errors = producer.takeDeliveryErrors()
    try BrokerFailure.check(errors.isEmpty, "\(errors.errors)")
    try producer.close(timeoutMilliseconds: 120_000)
  }

  /// Waits until everything is delivered, as long as something is within two minutes.
  private func flush(_ producer: Producer) throws(KafkaError) {
    while true {
      let before = producer.queuedCount
      do throws(KafkaError) {
        return try producer.flush(timeoutMilliseconds: 120_000)
      } catch {
        guard error.isRetriable, producer.queuedCount < before else { throw error }
      }
    }
  }

  private func produce(
    _ key: borrowing OwnedBytes,
    _ value: borrowing OwnedBytes,
    to partition: Int32,
    _ producer: Producer
  ) throws(KafkaError) {
    while true {
      do throws(KafkaError) {
        return try producer.produce(
          topic: names.items,
          partition: partition,
          key: key.bytes,
          value: value.bytes
        )
      } catch {
        guard error.kind == .queueFull else { throw error }
        try producer.poll(timeoutMilliseconds: 100)
      }
    }
  }
}
