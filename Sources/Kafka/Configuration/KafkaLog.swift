/// Receives librdkafka's log lines, and errors that it reports outside of any call.
///
/// Called on librdkafka's threads and on the client's. It must return quickly, and must not call the client.
/// The facility is librdkafka's short upper-case tag, for example `FAIL`.
public typealias KafkaLogHandler =
  @Sendable (_ level: KafkaLogLevel, _ facility: String, _ message: String) -> Void

/// The severity of a log line; the numbers are syslog's.
public enum KafkaLogLevel: Int32, Sendable, Comparable {
  case emergency = 0
  case alert
  case critical
  case error
  case warning
  case notice
  case info
  case debug

  /// Orders by number: `.emergency`, the most severe, is the least.
  public static func < (one: KafkaLogLevel, other: KafkaLogLevel) -> Bool {
    one.rawValue < other.rawValue
  }
}
