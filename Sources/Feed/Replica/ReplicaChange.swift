/// The change that a replica applied from one changeset.
public struct ReplicaChange: Sendable, Equatable {
  public var feed: String
  public var epoch: String
  public var revision: UInt64
  public var base: UInt64
  public var mode: ChangesetMode
  /// Why it is a reload; nil for other modes, and for a reason that is not known.
  public var reason: ReloadReason?
  /// RFC 3339 text.
  public var time: String
  /// The entries of a difference by kind; none for a reload.
  public var counts: PublicationOutcome.EntryCounts
  /// What changed; nil for a reload, which replaces everything, and where it was not asked for.
  public var difference: SnapshotDifference?
  /// Bytes of the changeset's values, all parts together.
  public var byteCount: Int
}
