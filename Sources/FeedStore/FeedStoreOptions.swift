public import Feed

/// The options of a store. The configuration reader validates them.
public struct FeedStoreOptions: Sendable, Equatable {
  public var coalescing = CoalescingOptions()
  public var planner = PlannerThresholds()
  public var keyframe = KeyframePolicy()
  public var output = OutputOptions()
  public var limits = Limits()
  public var topics = TopicNames()
  /// How long a changed content waits for further changes, in milliseconds. A replay does not wait.
  public var contentsWindowMilliseconds: Int64 = 1_000
  /// A larger flush is published in several transactions, each of which ends after a feed. A single transaction may
  /// exceed this size by one feed, or by the deletions that belong to the last one.
  public var maxTransactionBytes = Int.max

  public init() {}
}

/// The topics FeedStore reads and writes.
public struct TopicNames: Sendable, Equatable {
  /// Input: section updates, by convention.
  public var sections = "feeds.sections"
  /// Input: item updates, by convention.
  public var items = "feeds.items"
  /// Output: changesets, compacted.
  public var changesets = "feeds.changesets"
  /// Output: input records that could not be applied.
  public var rejected = "feeds.rejected"
  /// Input: the contents that items refer to, compacted; nil if items have no references.
  public var contents: String?

  public init() {}
}

/// A sequence of records, which the store applies in order.
///
/// A batch has one owner at a time: the caller that fills it, or the store while `apply` runs.
public protocol InputBatch: AnyObject, Sendable {
  /// The next record to apply; nil when there is none left. Valid until `advance`.
  ///
  /// - Throws: an error that makes the rest of the input unreadable.
  func current() throws -> InputRecord?

  /// Moves to the next record, after the current one was taken.
  func advance()

  /// The record at a distance after the current one, if it is available and has a key and a value. The store uses it
  /// only to prefetch, and it may never become the current one.
  func upcoming(_ distance: Int) -> (partition: Int32, key: ByteSpan, value: ByteSpan)?
}

extension InputBatch {
  public func upcoming(_ distance: Int) -> (partition: Int32, key: ByteSpan, value: ByteSpan)? { nil }
}

/// The clock of the coalescing window.
public enum TimeSource: Sendable {
  /// The records' own timestamps, as in a replay.
  case records
  /// The caller's clock, in milliseconds, and the time since 1970, by which items end.
  case clock(Int64, wall: Int64 = .min)
}

/// Why `apply` returned.
public enum ApplyOutcome: Sendable, Equatable {
  /// The batch has no more records.
  case exhausted
  /// The pending changes must be published before the rest of the batch is applied.
  case flushDue
}
