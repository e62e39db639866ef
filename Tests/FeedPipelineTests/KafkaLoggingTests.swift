import Kafka
import Service
import Testing

@testable import FeedPipeline

struct KafkaLoggingTests {
  @Test func `what is got over by itself is a warning`() {
    #expect(Log.event(of: .error, "TXNERR") == .kafkaClientWarning)
    #expect(Log.event(of: .alert, "TXNERR") == .kafkaClientError)
    #expect(Log.event(of: .error, "FAIL") == .kafkaClientError)
    #expect(Log.event(of: .warning, "GETPID") == .kafkaClientWarning)
    #expect(Log.event(of: .info, "FAIL") == .kafkaClientDebug)
  }
}
