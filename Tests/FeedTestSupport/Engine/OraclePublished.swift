/// What a feed last published.
public struct OraclePublished: Sendable, Equatable {
  public var feed: OracleFeed
  /// `topic/offset` of the record that brought the feed into being.
  public var epoch: String
  public var revision: Int
  /// By input topic, the newest offset taken.
  public var through: [String: Int]

  public init(feed: OracleFeed, epoch: String, revision: Int, through: [String: Int]) {
    self.feed = feed
    self.epoch = epoch
    self.revision = revision
    self.through = through
  }
}
