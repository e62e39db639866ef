import Feed

@testable import FeedClient

extension FeedDescription {
  /// A client's description of an empty feed with the epoch `e/1`.
  static func made(
    of feed: String,
    partition: Int32 = 0,
    revision: UInt64,
    _ standing: FeedStanding
  ) -> FeedDescription {
    FeedDescription(
      feed: feed,
      partition: partition,
      position: Int64(revision) + 1,
      version: PublishedVersion(epoch: Array("e/1".utf8), revision: revision, through: []),
      timeMilliseconds: 0,
      sectionCount: 0,
      itemCount: 0,
      checksum: 0,
      standing: standing,
      outdated: standing == .mustRefetch ? "a gap" : nil,
      lastChangeset: nil
    )
  }
}
