/// How a client should apply a changeset.
public enum ChangesetMode: String, Sendable, CaseIterable {
  /// Content changed; what clients have prepared stays.
  case reconfigure
  /// Elements were inserted, deleted, moved or reloaded.
  case diff
  /// The whole feed, regardless of what the replica has.
  case reload
  /// The feed was deleted.
  case delete
}
