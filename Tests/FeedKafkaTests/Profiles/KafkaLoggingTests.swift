import Kafka
import Service
import Testing

@testable import FeedKafka

struct KafkaLoggingTests {
  @Test func `what is got over by itself is a warning`() {
    #expect(Log.level(of: .error, "TXNERR") == .warning)
    #expect(Log.level(of: .alert, "TXNERR") == .error)
    #expect(Log.level(of: .error, "FAIL") == .error)
    #expect(Log.level(of: .warning, "GETPID") == .warning)
    #expect(Log.level(of: .info, "FAIL") == .debug)
  }
}
