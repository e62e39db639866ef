package import Kafka
import Service

extension Log {
  /// Takes librdkafka's own log lines, for one client.
  package var kafkaHandler: KafkaLogHandler {
    { level, facility, message in
      let (thread, message) = Self.parts(of: message)
      self.write(
        Self.event(of: level, facility),
        message,
        thread.map { ["facility": facility, "thread": $0] } ?? ["facility": facility]
      )
    }
  }

  /// librdkafka begins messages with the name of its thread: `[thrd:broker:9092/1]: broker:9092/1: Connect … failed`.
  static func parts(of message: String) -> (thread: String?, message: String) {
    let prefix = "[thrd:"
    guard message.hasPrefix(prefix), let end = message.firstRange(of: "]: ") else { return (nil, message) }
    let start = message.index(message.startIndex, offsetBy: prefix.count)
    return (String(message[start..<end.lowerBound]), String(message[end.upperBound...]))
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
