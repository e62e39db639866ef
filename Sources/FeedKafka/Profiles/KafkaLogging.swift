package import Kafka
import Service

extension Log {
  /// Takes librdkafka's own log lines, for one client.
  package var kafkaHandler: KafkaLogHandler {
    { level, facility, message in
      let (thread, message) = KafkaLogText.parts(of: message)
      self.write(
        Self.event(of: level, facility),
        message,
        thread.map { ["facility": facility, "thread": $0] } ?? ["facility": facility]
      )
    }
  }

  static func event(of level: KafkaLogLevel, _ facility: String) -> LogEvent {
    switch level {
    // Our own line, in the place of librdkafka's.
    case .error where facility == ConnectionFaults.facility: .kafkaClientConnectionRefused
    // A transaction that has to be aborted, as in a rebalance; fatal ones are graver.
    case .error where facility == "TXNERR": .kafkaClientWarning
    case .emergency, .alert, .critical, .error: .kafkaClientError
    case .warning: .kafkaClientWarning
    // What librdkafka finds notable is of use to those who look into it.
    case .notice, .info, .debug: .kafkaClientDebug
    }
  }
}
