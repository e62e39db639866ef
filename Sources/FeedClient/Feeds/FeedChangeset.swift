public import Feed

/// A changeset from the topic, decoded, with its bytes.
public struct FeedChangeset: Sendable {
  /// Feed, epoch, revision, base, mode, reason, time, and the entries in `difference`, which is nil for a reload.
  public let change: ReplicaChange
  /// The bytes of the records' values, UTF-8 text of JSON: one, or the parts in their order.
  public let values: [[UInt8]]
  /// The planner's figures from the header `feedstore.plan`; nil if the header is absent or not valid.
  public let plan: ChangesetPlan?
  /// The partition of the changesets topic.
  public let partition: Int32
  /// The offset of the record, or of the record with the last part.
  public let offset: Int64

  /// Creates a changeset, for tests of subscribers.
  public init(
    change: ReplicaChange,
    values: [[UInt8]],
    plan: ChangesetPlan? = nil,
    partition: Int32,
    offset: Int64
  ) {
    self.change = change
    self.values = values
    self.plan = plan
    self.partition = partition
    self.offset = offset
  }
}
