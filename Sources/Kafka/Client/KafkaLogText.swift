/// Parses the text of librdkafka's log lines.
public enum KafkaLogText {
  /// Splits off the thread's name, with which librdkafka begins: `[thrd:broker:9092/1]: broker:9092/1: Connect …
  /// failed`.
  public static func parts(of message: String) -> (thread: String?, message: String) {
    let prefix = "[thrd:"
    guard message.hasPrefix(prefix), let end = message.firstRange(of: "]: ") else { return (nil, message) }
    let start = message.index(message.startIndex, offsetBy: prefix.count)
    return (String(message[start..<end.lowerBound]), String(message[end.upperBound...]))
  }
}
