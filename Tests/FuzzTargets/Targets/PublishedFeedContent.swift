import Feed
import FeedChecks
import Oracle

/// The observable content of a feed, for a later comparison.
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

  /// - Parameter what: the action that must not have changed anything.
  func check(_ published: PublishedFeed, _ what: String) throws(FuzzFailure) {
    let now = try PublishedFeedContent(published)
    try expect(
      now.feed == feed && now.counts == counts && now.checksum == checksum && now.exists == exists,
      "\(what) changed the feed"
    )
  }
}
