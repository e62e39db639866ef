public import Feed

/// A feed at one moment: its description and its content.
public struct FeedContent: Sendable {
  /// The feed's id, version, size and standing.
  public let description: FeedDescription
  /// The sections and items. The snapshot shares its storage with the replica, which copies it if the feed changes
  /// while the snapshot is held.
  public let snapshot: Snapshot

  /// The whole feed as one changeset of mode `reload` and reason `keyframe`, for followers that start with this
  /// revision: JSON in UTF-8. It is encoded on the caller's thread by each call, in O(n) for n elements.
  public func reloadDocument() -> [UInt8] {
    snapshot.reload(
      of: description.feed,
      version: description.version,
      timeMilliseconds: description.timeMilliseconds
    )
  }
}
