public import FeedTestSupport

/// A feed as a follower of the changesets topic sees it.
public struct ObservedFeed: Sendable {
  public var feed: OracleFeed
  public var epoch: String
  public var revision: Int
  public var through: [String: Int]

  public init(feed: OracleFeed, epoch: String, revision: Int, through: [String: Int]) {
    self.feed = feed
    self.epoch = epoch
    self.revision = revision
    self.through = through
  }
}
