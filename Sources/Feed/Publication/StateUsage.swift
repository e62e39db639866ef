/// How much is kept when a record comes, besides its feed: what `limits.maxFeeds` and `limits.maxStateBytes` are about.
public struct StateUsage: Sendable, Equatable {
  /// Feeds that exist in the record's partition.
  public var feeds: Int
  /// Bytes of state in the process, by the formula of ``StateSize``.
  public var bytes: Int

  public init(feeds: Int = 0, bytes: Int = 0) {
    self.feeds = feeds
    self.bytes = bytes
  }
}
