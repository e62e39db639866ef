/// The topic and offset of an input record, with its timestamp and the time of its arrival.
public struct RecordPosition: Sendable {
  /// The topic's name as UTF-8.
  public var topic: [UInt8]
  public var offset: Int64
  /// Milliseconds since 1970.
  public var timestamp: Int64
  /// The time of arrival by the store's clock, in milliseconds since 1970; in a replay, the timestamp.
  public var taken: Int64

  /// - Parameter taken: nil in a replay, where it is the timestamp.
  public init(topic: [UInt8], offset: Int64, timestamp: Int64, taken: Int64? = nil) {
    self.topic = topic
    self.offset = offset
    self.timestamp = timestamp
    self.taken = taken ?? timestamp
  }

  /// The timestamp, or the nearest time in the years 0 to 9999. The basis of all values except the epoch.
  @inline(__always)
  public var time: Int64 { TimestampFormat.nearest(timestamp) }

  /// `topic:taken/offset`, which names an epoch. The time distinguishes it from the epoch of a record with
  /// the same offset in a recreated topic.
  var epoch: [UInt8] { topic + Array(":\(taken)/\(offset)".utf8) }
}

/// A position of an input topic: the newest applied record of a feed.
public struct TopicOffset: Sendable, Equatable {
  /// The topic's name as UTF-8.
  public var topic: [UInt8]
  public var offset: Int64

  /// The maximum number of topics of a feed's records, because every changeset lists them.
  ///
  /// With this, the head and the largest entry, without its data, fit into the 65,536 bytes by which
  /// `output.maxMessageBytes` exceeds `limits.maxDataBytes`. At worst, with ids of 255 control characters,
  /// which take 2 + 6 * 255 = 1,532 bytes each, topics of 249 bytes, and numbers of 19 or 20 digits:
  ///
  ///     2,051  head without topics: the feed's id, the epoch of 292, two revisions, part and parts, names
  ///     7,890  a section with an order: its id, four pointers of 255 control characters, names and brackets; an item has less
  ///    54,399  200 topics of 271 with quotes, colon and offset, and commas between: 200 * 272 - 1
  ///    64,340  of 65,536
  public static let greatestCount = 200

  public init(topic: [UInt8], offset: Int64) {
    self.topic = topic
    self.offset = offset
  }
}

extension TopicOffset {
  /// Whether these bytes are a topic's name. Records mostly share one array, whose names need no comparison.
  @inline(__always)
  package static func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    let isShared = left.withUnsafeBufferPointer { left in
      right.withUnsafeBufferPointer { left.baseAddress == $0.baseAddress && left.count == $0.count }
    }
    return isShared || left == right
  }
}

extension [TopicOffset] {
  /// The offset for a topic.
  @inline(__always)
  package func offset(_ topic: [UInt8]) -> Int64? {
    withUnsafeBufferPointer { entries in
      for entry in entries where TopicOffset.isSame(entry.topic, topic) { return entry.offset }
      return nil
    }
  }

  /// Raises a topic's offset, keeping the list sorted by name.
  @inline(__always)
  package mutating func raise(_ topic: [UInt8], to offset: Int64) {
    // Mostly there is one topic.
    if count == 1, TopicOffset.isSame(self[0].topic, topic) {
      self[0].offset = Swift.max(self[0].offset, offset)
    } else {
      raiseAny(topic, to: offset)
    }
  }

  private mutating func raiseAny(_ topic: [UInt8], to offset: Int64) {
    for position in indices {
      if TopicOffset.isSame(self[position].topic, topic) {
        self[position].offset = Swift.max(self[position].offset, offset)
        return
      }
      if topic.lexicographicallyPrecedes(self[position].topic) {
        insert(TopicOffset(topic: topic, offset: offset), at: position)
        return
      }
    }
    append(TopicOffset(topic: topic, offset: offset))
  }
}

/// Validates topic names by Kafka's rules.
public enum TopicName {
  public static let greatestByteCount = 249

  /// The rule for a name, for messages.
  public static let allowed =
    "1 to \(greatestByteCount) of the characters a-z, A-Z, 0-9, '.', '_' and '-', but not \".\" or \"..\""

  package static func isLegal(_ name: String) -> Bool { ByteText(name).withBytes { isLegal($0) } }

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
