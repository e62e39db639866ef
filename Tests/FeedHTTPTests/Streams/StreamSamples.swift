import Feed

@testable import FeedClient
@testable import FeedHTTP

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

extension StreamedChangeset {
  /// A changeset of the epoch `e/1`, at the offset of its revision.
  static func made(
    _ revision: UInt64,
    epoch: String = "e/1",
    isReload: Bool = false,
    isDeletion: Bool = false,
    offset: Int64? = nil,
    texts: [String]? = nil
  ) -> StreamedChangeset {
    StreamedChangeset(
      base: FeedVersion(epoch: epoch, revision: revision - 1),
      version: FeedVersion(epoch: epoch, revision: revision),
      isReload: isReload,
      isDeletion: isDeletion,
      offset: offset ?? Int64(revision),
      values: (texts ?? ["\(revision)"]).map { Array($0.utf8) }
    )
  }
}
