public import Feed

/// Everything a store is told when it is made. Validated by whoever reads the configuration.
public struct FeedStoreOptions: Sendable, Equatable {
  public var coalescing = CoalescingOptions()
  public var planner = PlannerThresholds()
  public var keyframe = KeyframePolicy()
  public var output = OutputOptions()
  public var limits = Limits()
  public var topics = TopicNames()

  public init() {}
}
