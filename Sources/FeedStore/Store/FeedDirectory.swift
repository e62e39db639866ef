import Feed

/// The feeds of one partition, by id.
struct FeedDirectory {
  private(set) var feeds: [Key: PublishedFeed] = [:]

  /// A feed's id: bytes that the feed owns, or that a record lends for a look-up.
  struct Key: Hashable {
    let id: ByteSpan

    static func == (one: Key, other: Key) -> Bool { one.id.hasSameBytes(as: other.id) }
    func hash(into hasher: inout Hasher) { hasher.combine(bytes: id.rawBuffer) }
  }

  /// The feed looked up last: updates of one feed tend to come together.
  private var recent: PublishedFeed?

  /// The feed of that id, made if need be.
  mutating func feed(_ id: ByteSpan) -> PublishedFeed {
    if let recent, recent.id.hasSameBytes(as: id) { return recent }
    let feed: PublishedFeed
    if let known = feeds[Key(id: id)] {
      feed = known
    } else {
      feed = PublishedFeed(id: id)
      feeds[Key(id: feed.id)] = feed
    }
    recent = feed
    return feed
  }

  /// The feed of that id, if there is one.
  func existing(_ id: ByteSpan) -> PublishedFeed? {
    if let recent, recent.id.hasSameBytes(as: id) { return recent }
    return feeds[Key(id: id)]
  }

  mutating func insert(_ feed: PublishedFeed) {
    feeds[Key(id: feed.id)] = feed
  }

  mutating func remove(_ feed: PublishedFeed) {
    if recent === feed { recent = nil }
    feeds[Key(id: feed.id)] = nil
  }
}
