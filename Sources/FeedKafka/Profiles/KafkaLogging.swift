import Feed
package import Kafka
import Service

extension Log {
  /// Logs the lines of one librdkafka client.
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
    // Logged in our own words.
    case .error where facility == ConnectionFaults.facility: .kafkaClientConnectionRefused
    // A transaction must be aborted, for example by a rebalance. Fatal errors have a higher severity.
    case .error where facility == "TXNERR": .kafkaClientWarning
    case .emergency, .alert, .critical, .error: .kafkaClientError
    case .warning where facility == SharedIDs.facility: .inputFeedInSeveralPartitions
    case .warning: .kafkaClientWarning
    // librdkafka's notices help only in diagnosing librdkafka.
    case .notice, .info, .debug: .kafkaClientDebug
    }
  }
}
