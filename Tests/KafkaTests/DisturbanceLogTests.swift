import Kafka
import Synchronization
import Testing

/// How loud the log is about what goes by itself.
struct DisturbanceLogTests {
  @Test func `a connection that fails is a warning, and that all brokers are down is an error`() throws {
    let levels = Mutex<[String: Set<KafkaLogLevel>]>([:])
    // Nobody listens there.
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
