package import Kafka
import Service

extension Log {
  /// Takes librdkafka's own log lines, for one client.
  package var kafkaHandler: KafkaLogHandler {
    { level, facility, message in
      self.log(Self.level(of: level, facility), message, ["kafka": facility])
    }
  }

  static func level(of level: KafkaLogLevel, _ facility: String) -> LogLevel {
    switch level {
    // A transaction that has to be aborted, as in a rebalance; fatal ones are graver.
    case .error where facility == "TXNERR": .warning
    case .emergency, .alert, .critical, .error: .error
    case .warning: .warning
    // What librdkafka finds notable is of use to those who look into it.
    case .notice, .info, .debug: .debug
    }
  }
}
