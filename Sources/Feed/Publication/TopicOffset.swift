/// A position of an input topic: the newest record of a feed that was taken.
public struct TopicOffset: Sendable, Equatable {
  /// The topic's name as UTF-8.
  public var topic: [UInt8]
  public var offset: Int64

  /// The most topics that a feed's records may come from, as every changeset lists them.
  ///
  /// So head and largest entry, without its data, fit into the 65,536 bytes that `output.maxMessageBytes` is
  /// more than `limits.maxDataBytes`. At worst, with ids of 255 control characters, which take 2 + 6 * 255 =
  /// 1,532 bytes each, topics of 249 bytes, and numbers of 19 or 20 digits:
  ///
  ///     2,051  head without topics: the feed's id, the epoch of 292, two revisions, part and parts, names
  ///     4,671  an inserted item: three ids, its place, names, and the brackets of its list
  ///    54,399  200 topics of 271 with quotes, colon and offset, and commas between: 200 * 272 - 1
  ///    61,121  of 65,536
  public static let greatestCount = 200

  public init(topic: [UInt8], offset: Int64) {
    self.topic = topic
    self.offset = offset
  }
}

extension TopicOffset {
  /// Whether a topic's name is of these bytes. Records of one topic mostly share one array, so that a look at them is spared.
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
