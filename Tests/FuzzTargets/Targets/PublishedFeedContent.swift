import Feed
import FeedTestSupport

/// All that can be seen of a feed, to compare it with later.
struct PublishedFeedContent {
  private let feed: OracleFeed
  private let counts: [Int]
  private let checksum: UInt32
  private let exists: Bool

  init(_ published: PublishedFeed) throws(FuzzFailure) {
    feed = try published.snapshot().oracleFeed
    counts = [published.itemCount, published.sectionCount, published.publishedBytes]
    checksum = published.checksum
    exists = published.exists
  }

  /// - Parameter what: what must have changed nothing.
  func check(_ published: PublishedFeed, _ what: String) throws(FuzzFailure) {
    let now = try PublishedFeedContent(published)
    try expect(
      now.feed == feed && now.counts == counts && now.checksum == checksum && now.exists == exists,
      "\(what) changed the feed"
    )
  }
}
