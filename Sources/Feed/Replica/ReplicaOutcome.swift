/// The effect of a record of the changesets topic on a replica.
public enum ReplicaOutcome: Sendable, Equatable {
  /// The replica is now at the changeset's revision.
  case applied(ReplicaChange)
  /// The feed was deleted and its replica dropped.
  case removed(feed: String)
  /// The replica has that revision already, or the record is a null that means nothing.
  case skipped
  /// More parts of the same changeset are needed.
  case waitingForParts(received: Int, of: Int)
  /// The delta's base is not the replica's revision; nothing can be applied until the next reload.
  case gap(replica: UInt64?, base: UInt64)
  /// The delta belongs to another epoch than the replica; nothing can be applied until its reload.
  case otherEpoch
  /// The changeset does not fit what the replica has: a fault of the topic or of the replica. The
  /// replica keeps its last good state; nothing can be applied until the next reload.
  case mismatch(ReplicaFault)
}
