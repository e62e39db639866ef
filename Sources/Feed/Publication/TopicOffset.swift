/// A position of an input topic: the newest record of a feed that was taken.
public struct TopicOffset: Sendable, Equatable {
  /// The topic's name as UTF-8.
  public var topic: [UInt8]
  public var offset: Int64

  public init(topic: [UInt8], offset: Int64) {
    self.topic = topic
    self.offset = offset
  }
}

extension [TopicOffset] {
  /// The offset for a topic.
  func offset(_ topic: [UInt8]) -> Int64? {
    // By position, which copies neither the list nor a name.
    for position in indices where self[position].topic == topic { return self[position].offset }
    return nil
  }

  /// Raises a topic's offset, keeping the list sorted by name.
  mutating func raise(_ topic: [UInt8], to offset: Int64) {
    for position in indices {
      if self[position].topic == topic {
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
