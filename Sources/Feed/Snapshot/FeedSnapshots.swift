extension PublishedFeed {
  /// The feed's content now, changes that are not published yet included. O(n).
  public func snapshot() -> Snapshot { Snapshot(copying: state) }
}
