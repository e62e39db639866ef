public import Kafka

/// What a consumer is made with.
public struct ConsumerOptions {
  public var isolation = IsolationLevel.readCommitted
  public var hasGroup = false
  /// Names the member for good; nil for one that is new each time.
  public var instanceID: String?
  /// In milliseconds.
  public var sessionTimeout: Int64 = 10_000
  public var maxPollInterval: Int64 = 300_000
  /// Whether an offset that is out of range is an error, and not another beginning.
  public var failsOutOfRange = false
  /// Whether a rebalance takes all partitions away first.
  public var isEager = false
  /// Whether partitions are paused when they are assigned.
  public var pausesAssigned = false

  public init() {}
}
