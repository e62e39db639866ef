/// How updates come to a subscriber, and what becomes of them when it is slow.
public struct SubscriptionOptions: Sendable, Equatable {
  /// What happens when as much waits for a subscriber as may.
  public enum SlowPolicy: Sendable, Equatable {
    /// The reading pauses until the subscriber has taken something, for all subscribers alike. It is told every
    /// changeset. For a follower with one subscriber, which is what the process is for.
    case pausesReading
    /// The reading goes on. What waits of a feed that changes again is dropped, and the subscriber is told
    /// the newest state of that feed instead, once: `present`. For many subscribers, such as those of
    /// a server.
    case coalesces
  }

  /// What happens when as much waits as may.
  public var slowPolicy: SlowPolicy
  /// How many updates may wait.
  public var maximumUpdates: Int
  /// How many bytes of changesets' values may wait. One that is larger waits alone.
  public var maximumBytes: Int
  /// Whether updates have the snapshot after them. The subscription then keeps a copy of each feed that
  /// changes; each update costs what it changes, and O(n) where the snapshot before is still held.
  public var hasSnapshots: Bool
  /// Whether to be told of every changeset that the topic still has, rather than of the state at the
  /// beginning. Only right for a subscription made before the client runs.
  public var beginsWithHistory: Bool

  /// Makes options; by default a subscription that never holds up the others.
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
