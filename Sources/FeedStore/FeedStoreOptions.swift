public import Feed

/// The options of a store. The configuration reader validates them.
public struct FeedStoreOptions: Sendable, Equatable {
  public var coalescing = CoalescingOptions()
  public var planner = PlannerThresholds()
  public var keyframe = KeyframePolicy()
  public var output = OutputOptions()
  public var limits = Limits()
  public var topics = TopicNames()
  /// A larger flush is published in several transactions, each of which ends after a feed. A single transaction may
  /// exceed this size by one feed, or by the deletions that belong to the last one.
  public var maxTransactionBytes = Int.max

  public init() {}
}

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
