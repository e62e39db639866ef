import Feed

/// The current size and checksum of a feed, to compare with a replica.
public struct FeedSummary: Sendable, Equatable {
  public var partition: Int32
  public var feed: String
  /// 0 before the first changeset.
  public var revision: UInt64
  public var sectionCount: Int
  public var itemCount: Int
  public var checksum: UInt32

  init(partition: Int32, _ feed: PublishedFeed) {
    self.partition = partition
    self.feed = feed.id.text
    revision = feed.version?.revision ?? 0
    sectionCount = feed.sectionCount
    itemCount = feed.itemCount
    checksum = feed.checksum
  }
}
