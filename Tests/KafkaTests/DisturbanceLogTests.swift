import Kafka
import Synchronization
import Testing

/// The log level of errors that librdkafka recovers from.
struct DisturbanceLogTests {
  @Test func `a failed connection is a warning, and all brokers down is an error`() throws {
    let levels = Mutex<[String: Set<KafkaLogLevel>]>([:])
    // Nothing listens there.
    let consumer = try Consumer(configuration: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"]) {
      level,
      name,
      _ in
      levels.withLock { _ = $0[name, default: []].insert(level) }
    }
    let batch = consumer.makeBatch(capacity: 1)
    try consumer.subscribe("t")
    while levels.withLock({ $0["_TRANSPORT"] == nil || $0["_ALL_BROKERS_DOWN"] == nil }) {
      try consumer.poll(into: batch, timeoutMilliseconds: 100)
    }
    levels.withLock {
      #expect($0["_TRANSPORT"] == [.warning])
      #expect($0["_ALL_BROKERS_DOWN"] == [.error])
    }
    try consumer.close(timeoutMilliseconds: 120_000)
  }
}
