/// What has to come next in a partition, before any other feed's records.
enum Expectation {
  /// The next part of a changeset.
  case part(PendingChangeset)
  /// A keyframe, for this reason.
  case keyframe(String)
  case nulls(NullsDue, isDeletion: Bool)

  /// What is expected, in words.
  ///
  /// - Parameter feed: the feed's id as it stands in keys.
  func words(feed: String) -> String {
    switch self {
    case .part(let pending): "part \(pending.received) of \(pending.parts) of revision \(pending.revision)"
    case .keyframe(let reason): "a keyframe (\(reason))"
    case .nulls(let due, let isDeletion):
      "a null under \((due.next + feed).debugDescription)"
        + (isDeletion ? ", as the feed was deleted" : ", as the reload has fewer parts than the one before")
    }
  }
}
