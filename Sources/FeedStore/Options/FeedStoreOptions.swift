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
