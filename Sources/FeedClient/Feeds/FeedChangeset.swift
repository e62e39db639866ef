public import Feed

/// A changeset as it came from the topic, and what it says.
public struct FeedChangeset: Sendable {
  /// Feed, epoch, revision, base, mode, reason, time, and the entries: `difference`, nil for a reload.
  public let change: ReplicaChange
  /// The bytes of the records' values, UTF-8 text of JSON: one, or the parts in their order.
  public let values: [[UInt8]]
  /// Why it was published as it was, by the header `feedstore.plan`; nil where there is none, or none that can be read.
  public let plan: ChangesetPlan?
  /// The partition of the changesets topic.
  public let partition: Int32
  /// The offset of the record, or of the last part's.
  public let offset: Int64

  /// Makes a changeset, for tests of what follows.
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
