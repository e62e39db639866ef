/// The four topics FeedStore reads and writes.
public struct TopicNames: Sendable, Equatable {
  /// Input: section updates, by convention.
  public var sections = "feeds.sections"
  /// Input: item updates, by convention.
  public var items = "feeds.items"
  /// Output: changesets, compacted.
  public var changesets = "feeds.changesets"
  /// Output: input records that could not be applied.
  public var rejected = "feeds.rejected"

  public init() {}
}
