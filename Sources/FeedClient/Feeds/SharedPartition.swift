package import Feed

/// A partition of the changesets topic as it was followed up to an offset, for another thread that continues from there.
package struct SharedPartition: Sendable {
  /// Everything before this offset was read.
  package let position: Int64
  package let feeds: SharedFeeds
}
