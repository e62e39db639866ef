/// Where an input record stands, when it was made and when it was taken.
public struct RecordPosition: Sendable {
  /// The topic's name as UTF-8.
  public var topic: [UInt8]
  public var offset: Int64
  /// Milliseconds since 1970.
  public var timestamp: Int64
  /// When the store took the record, by its own clock, in milliseconds since 1970. A replay has no other clock than its
  /// records.
  public var taken: Int64

  /// - Parameter taken: nil in a replay, where it is the timestamp.
  public init(topic: [UInt8], offset: Int64, timestamp: Int64, taken: Int64? = nil) {
    self.topic = topic
    self.offset = offset
    self.timestamp = timestamp
    self.taken = taken ?? timestamp
  }

  /// The timestamp, or the nearest time in the years 0 to 9999: what everything but the epoch is computed from.
  @inline(__always)
  public var time: Int64 { TimestampFormat.nearest(timestamp) }

  /// `topic:taken/offset`, which names an epoch. The time tells it from that of a record with the same offset in a topic
  /// that was created again.
  var epoch: [UInt8] { topic + Array(":\(taken)/\(offset)".utf8) }
}
