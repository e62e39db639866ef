/// How updates are delivered to a subscriber, and what happens if it is slow.
public struct SubscriptionOptions: Sendable, Equatable {
  /// What happens when a subscriber's queue is full.
  public enum SlowPolicy: Sendable, Equatable {
    /// The client stops reading, for all subscribers, until the subscriber has taken an update. It receives every
    /// changeset. For a process that exists for a single subscriber.
    case pausesReading
    /// The client continues reading. When a feed changes again, its queued updates are dropped, and the subscriber
    /// receives its newest state once: `present`. For many subscribers, such as the clients of a server.
    case coalesces
  }

  /// What happens when the queue is full.
  public var slowPolicy: SlowPolicy
  /// The maximum number of queued updates.
  public var maximumUpdates: Int
  /// The maximum size of queued changesets, in bytes of their values. A larger changeset is queued alone.
  public var maximumBytes: Int
  /// Whether updates include the resulting snapshot. The subscription then keeps a copy of each feed that changes. An
  /// update costs time in proportion to its changes, or O(n) if the previous snapshot is still held.
  public var hasSnapshots: Bool
  /// Whether to deliver every changeset that the topic still has, instead of the state at the beginning. Use it only
  /// for a subscription that is created before the client runs.
  public var beginsWithHistory: Bool

  /// Creates options; by default a slow subscriber does not delay others.
  public init(
    slowPolicy: SlowPolicy = .coalesces,
    maximumUpdates: Int = 256,
    maximumBytes: Int = 16 << 20,
    hasSnapshots: Bool = true,
    beginsWithHistory: Bool = false
  ) {
    self.slowPolicy = slowPolicy
    self.maximumUpdates = max(1, maximumUpdates)
    self.maximumBytes = max(1, maximumBytes)
    self.hasSnapshots = hasSnapshots
    self.beginsWithHistory = beginsWithHistory
  }
}
