/// The text of a line of librdkafka's log.
public enum KafkaLogText {
  /// librdkafka begins messages with the name of its thread: `[thrd:broker:9092/1]: broker:9092/1: Connect … failed`.
  public static func parts(of message: String) -> (thread: String?, message: String) {
    let prefix = "[thrd:"
    guard message.hasPrefix(prefix), let end = message.firstRange(of: "]: ") else { return (nil, message) }
    let start = message.index(message.startIndex, offsetBy: prefix.count)
    return (String(message[start..<end.lowerBound]), String(message[end.upperBound...]))
  }
}
