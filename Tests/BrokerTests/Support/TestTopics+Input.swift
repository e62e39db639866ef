import FeedStore
import Kafka

extension TestTopics {
  /// Sends records of items, outside of transactions.
  ///
  /// - Parameter record: partition, key and value of a record by its number.
  func produce(_ count: Int, _ record: (Int) -> (partition: Int32, key: String, value: String)) throws {
    let producer = try Producer(configuration: client, log: { _, _, _ in })
    for number in 0..<count {
      let (partition, key, value) = record(number)
      try produce(Array(key.utf8), Array(value.utf8), to: partition, producer)
    }
    try producer.flush(timeoutMilliseconds: 60_000)
    let errors = producer.takeDeliveryErrors()
    try BrokerFailure.check(errors.isEmpty, "\(errors.errors)")
    try producer.close(timeoutMilliseconds: 10_000)
  }

  private func produce(_ key: [UInt8], _ value: [UInt8], to partition: Int32, _ producer: Producer) throws {
    try key.withUnsafeBytes { key in
      try value.withUnsafeBytes { value in
        while true {
          do {
            return try producer.produce(topic: names.items, partition: partition, key: key, value: value)
          } catch let error as KafkaError where error.kind == .queueFull {
            try producer.poll(timeoutMilliseconds: 100)
          }
        }
      }
    }
  }
}
