public import Feed

/// The options of a store. The reader of the configuration validates them.
public struct FeedStoreOptions: Sendable, Equatable {
  public var coalescing = CoalescingOptions()
  public var planner = PlannerThresholds()
  public var keyframe = KeyframePolicy()
  public var output = OutputOptions()
  public var limits = Limits()
  public var topics = TopicNames()
  /// A flush of more bytes than this is published in several transactions, each of which ends after a feed. A single
  /// one may be larger: by one feed, or by the deletions that go into the last one.
  public var maxTransactionBytes = Int.max

  public init() {}
}
