/// A feed as it is saved by who follows it.
package struct SavedFeed: Sendable {
  package let id: ByteText
  package let snapshot: Snapshot
  /// The revision that the snapshot is of, and the feed's keys on the topic.
  package let version: PublishedVersion
  /// The `time` of that revision, since 1970.
  package let timeMilliseconds: Int64
  /// Why it is stale, so that it goes on with a reload only; nil if it is not.
  package let lost: String?
}
