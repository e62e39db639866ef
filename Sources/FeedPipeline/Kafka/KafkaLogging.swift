import Kafka
import Service

extension Log {
  /// Takes librdkafka's own log lines, for one client.
  var kafkaHandler: KafkaLogHandler {
    { level, facility, message in
      self.log(Self.level(of: level), message, ["kafka": facility])
    }
  }

  private static func level(of level: KafkaLogLevel) -> LogLevel {
    switch level {
    case .emergency, .alert, .critical, .error: .error
    case .warning: .warning
    // What librdkafka finds notable is of use to those who look into it.
    case .notice, .info, .debug: .debug
    }
  }
}
