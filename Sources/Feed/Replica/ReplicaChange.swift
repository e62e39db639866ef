/// The change that a replica applied from one changeset.
public struct ReplicaChange: Sendable, Equatable {
  public let feed: String
  /// Shared with the replica. Texts are made where they are read: restoring reads none.
  let epochBytes: [UInt8]
  public let revision: UInt64
  public let base: UInt64
  public let mode: ChangesetMode
  /// Why it is a reload; nil for other modes, and for a reason that is not known.
  public let reason: ReloadReason?
  let timeMilliseconds: Int64
  /// The time as it is spelled, if that is not how this package spells times.
  let foreignTime: String?
  /// The entries of a difference by kind; none for a reload.
  public let counts: PublicationOutcome.EntryCounts
  /// What changed; nil for a reload, which replaces everything, and where it was not asked for.
  public let difference: SnapshotDifference?
  /// Bytes of the changeset's values, all parts together.
  public let byteCount: Int

  public var epoch: String { String(decoding: epochBytes, as: UTF8.self) }

  /// RFC 3339 text.
  public var time: String {
    if let foreignTime { return foreignTime }
    let output = ByteWriter(capacity: TimestampFormat.byteCount)
    TimestampFormat.append(timeMilliseconds, to: output)
    return output.written.text
  }
}
