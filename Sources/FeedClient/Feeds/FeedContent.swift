public import Feed

/// A feed as it was at one moment: what it is, and what is in it.
public struct FeedContent: Sendable {
  /// What is known of it besides its content.
  public let description: FeedDescription
  /// Sections and items. It shares its storage with the replica, which copies it when the feed changes while the
  /// snapshot is held.
  public let snapshot: Snapshot

  /// The whole feed as a changeset in one piece, of mode `reload` and reason `keyframe`, for whoever begins
  /// with this revision. UTF-8 text of JSON. It is written anew each time, in O(n) for n elements, on the
  /// caller's thread.
  public func reloadDocument() -> [UInt8] {
    snapshot.reload(
      of: description.feed,
      version: description.version,
      timeMilliseconds: description.timeMilliseconds
    )
  }
}
