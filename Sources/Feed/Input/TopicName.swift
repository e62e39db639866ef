/// Validates topic names by Kafka's rules.
public enum TopicName {
  public static let greatestByteCount = 249

  /// What a name must be, for messages.
  public static let allowed =
    "1 to \(greatestByteCount) of the characters a-z, A-Z, 0-9, '.', '_' and '-', but not \".\" or \"..\""

  /// Whether Kafka accepts a name for a topic.
  public static func isLegal(_ name: ByteSpan) -> Bool {
    guard (1...greatestByteCount).contains(name.count) else { return false }
    if name.matches(".") || name.matches("..") { return false }
    return name.buffer.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): true
      case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
      default: false
      }
    }
  }
}
