/// The last published state of a feed.
public struct OraclePublished: Sendable, Equatable {
  public var feed: OracleFeed
  /// The record that created the feed, as `topic:timestamp/offset`.
  public var epoch: String
  public var revision: Int
  /// The newest offset taken, by input topic.
  public var through: [String: Int]

  public init(feed: OracleFeed, epoch: String, revision: Int, through: [String: Int]) {
    self.feed = feed
    self.epoch = epoch
    self.revision = revision
    self.through = through
  }
}
