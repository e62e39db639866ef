/// Where an input record stands and when it was made.
public struct RecordPosition: Sendable {
  /// The topic's name as UTF-8.
  public var topic: [UInt8]
  public var offset: Int64
  /// Milliseconds since 1970.
  public var timestamp: Int64

  public init(topic: [UInt8], offset: Int64, timestamp: Int64) {
    self.topic = topic
    self.offset = offset
    self.timestamp = timestamp
  }

  /// `topic/offset`, which names an epoch.
  var epoch: [UInt8] { topic + [UInt8(ascii: "/")] + Array(String(offset).utf8) }
}
