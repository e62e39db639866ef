import Feed

/// What a follower read.
enum FollowedRecord {
  /// A record of the changesets topic, and what it meant.
  case changeset(partition: Int32, ReplicaOutcome)
  /// A record of the changesets topic that is none.
  case unreadable(partition: Int32, offset: Int64, ReplicaFault)
  /// A record of the rejected topic, with the text of its headers by name.
  case rejected(key: String, headers: [String: String])
}
