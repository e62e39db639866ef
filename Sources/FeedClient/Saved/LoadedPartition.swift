import Feed

/// A partition that was loaded from a saved state.
struct LoadedPartition {
  let saved: SavedPartition
  let replicas: ReplicaPartition

  init(_ saved: SavedPartition) {
    self.saved = saved
    replicas = ReplicaPartition(describesChanges: false)
  }

  /// The tolerated difference between the clocks of the saving and the loading machine.
  private static let clockToleranceMilliseconds: Int64 = 60_000

  /// Checks the saved position against the first and last offset of the partition. A position outside of them means
  /// that the topic was recreated or truncated.
  func check(low: Int64, high: Int64) throws(SavedStateFault) {
    guard low <= saved.firstOffset, saved.position <= high else {
      throw SavedStateFault(
        "partition \(saved.number) was read from offset \(saved.firstOffset) up to \(saved.position), and now has "
          + "those from \(low) up to \(high): it was re-created or truncated"
      )
    }
  }

  /// Checks that the topic still reports all deletions since the state was saved.
  ///
  /// - Parameter now: in milliseconds since 1970.
  func check(maximumAgeMilliseconds: Int64, now: Int64) throws(SavedStateFault) {
    guard saved.asOf <= now + Self.clockToleranceMilliseconds else {
      throw SavedStateFault("partition \(saved.number) has a time in the future")
    }
    guard now - saved.asOf <= maximumAgeMilliseconds else {
      throw SavedStateFault(
        "partition \(saved.number) is \((now - saved.asOf) / 1_000) s old, more than the "
          + "\(maximumAgeMilliseconds / 1_000) s that are allowed: the topic may no longer have later deletions"
      )
    }
  }
}
