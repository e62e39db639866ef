package import Feed

/// A record that a follower has read.
package enum FollowedRecord {
  /// A record of the changesets topic, its effect, and the planner's figures.
  case changeset(partition: Int32, ReplicaOutcome, ChangesetPlan?)
  /// A record of the changesets topic that is not valid.
  case unreadable(partition: Int32, offset: Int64, ReplicaFault)
  /// A record of the rejected topic, with the text of its headers by name.
  case rejected(key: String, headers: [String: String])
}
