package import Feed

/// What a follower read.
package enum FollowedRecord {
  /// A record of the changesets topic, what it meant, and what it says of why it is what it is.
  case changeset(partition: Int32, ReplicaOutcome, ChangesetPlan?)
  /// A record of the changesets topic that is none.
  case unreadable(partition: Int32, offset: Int64, ReplicaFault)
  /// A record of the rejected topic, with the text of its headers by name.
  case rejected(key: String, headers: [String: String])
}
