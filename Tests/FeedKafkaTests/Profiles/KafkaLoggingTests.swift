import Diagnostics
import Kafka
import Synchronization
import Testing

@testable import FeedKafka

struct KafkaLoggingTests {
  @Test func `an error that librdkafka recovers from is a warning`() {
    #expect(Log.event(of: .error, "TXNERR") == .kafkaClientWarning)
    #expect(Log.event(of: .alert, "TXNERR") == .kafkaClientError)
    #expect(Log.event(of: .error, "FAIL") == .kafkaClientError)
    #expect(Log.event(of: .error, ConnectionFaults.facility) == .kafkaClientConnectionRefused)
    #expect(Log.event(of: .warning, "GETPID") == .kafkaClientWarning)
    #expect(Log.event(of: .info, "FAIL") == .kafkaClientDebug)
  }

  @Test func `the thread in librdkafka's message becomes a field`() {
    let lines = Mutex<[String]>([])
    let output = DiagnosticOutput(isTerminal: false) { line in lines.withLock { $0.append(line) } }
    let handler = Log(output: output).kafkaHandler
    handler(.error, "FAIL", "[thrd:b:9092/1]: b:9092/1: Connect failed: [1]: refused")
    handler(.error, "FAIL", "[thrd:b")
    let told = lines.withLock { $0 }
    #expect(
      told[0].hasSuffix(
        "b:9092/1: Connect failed: [1]: refused event=kafka.client.error facility=FAIL thread=b:9092/1\n"
      )
    )
    #expect(told[1].hasSuffix(" [thrd:b event=kafka.client.error facility=FAIL\n"))
  }
}
