public import Feed

/// Everything a store is told when it is made. Validated by whoever reads the configuration.
public struct FeedStoreOptions: Sendable, Equatable {
  public var coalescing = CoalescingOptions()
  public var planner = PlannerThresholds()
  public var keyframe = KeyframePolicy()
  public var output = OutputOptions()
  public var limits = Limits()
  public var topics = TopicNames()
  /// A flush that comes to more bytes than this is published in several transactions, each of which ends after
  /// a feed. One alone may be larger: by a feed, or by the deletions that wait for the last.
  public var maxTransactionBytes = Int.max

  public init() {}
}
