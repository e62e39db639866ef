import Feed

/// The feeds of one partition, by id.
final class FeedDirectory {
  @exclusivity(unchecked) private(set) var feeds: [Key: PublishedFeed] = [:]

  /// A feed's id: bytes that the feed owns, or that a record lends for a look-up.
  struct Key: Hashable {
    let id: ByteSpan

    static func == (one: Key, other: Key) -> Bool { one.id.hasSameBytes(as: other.id) }
    func hash(into hasher: inout Hasher) { hasher.combine(bytes: id.rawBuffer) }
  }

  /// The feed looked up last: updates of one feed tend to come together.
  @exclusivity(unchecked) private var recent: PublishedFeed?

  /// The feed of that id, if there is one.
  func feed(_ id: ByteSpan) -> PublishedFeed? {
    if let recent, recent.id.hasSameBytes(as: id) { return recent }
    guard let feed = feeds[Key(id: id)] else { return nil }
    recent = feed
    return feed
  }

  /// Makes a feed of an id that there is none of.
  func makeFeed(_ id: ByteSpan) -> PublishedFeed {
    let feed = PublishedFeed(id: id)
    insert(feed)
    recent = feed
    return feed
  }

  func insert(_ feed: PublishedFeed) {
    feeds[Key(id: feed.id)] = feed
  }

  func remove(_ feed: PublishedFeed) {
    if recent === feed { recent = nil }
    feeds[Key(id: feed.id)] = nil
  }
}
