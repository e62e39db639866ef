import FeedTestSupport

/// A feed as a follower of the changesets topic has it.
struct ObservedFeed: Sendable {
  var feed: OracleFeed
  var epoch: String
  var revision: Int
  var through: [String: Int]
}
