import Feed

/// A partition as it was saved, ready to be gone on with.
struct LoadedPartition {
  let saved: SavedPartition
  let replicas: ReplicaPartition
  /// Why feeds cannot be followed until their next reload.
  var lost: [ByteText: String] = [:]

  init(_ saved: SavedPartition) {
    self.saved = saved
    replicas = ReplicaPartition(describesChanges: false)
  }

  /// How far in the future the clock of who saved may have been.
  private static let clockToleranceMilliseconds: Int64 = 60_000

  /// Checks that it is a part of what the partition is now, given where that begins and ends. Beyond its ends
  /// it is another topic than the one that was read, or a part of it was cut off.
  func check(low: Int64, high: Int64) throws(SavedStateFault) {
    guard low <= saved.firstOffset, saved.position <= high else {
      throw SavedStateFault(
        "partition \(saved.number) was read from offset \(saved.firstOffset) up to \(saved.position), and now has "
          + "those from \(low) up to \(high): it was re-created or truncated"
      )
    }
  }

  /// Checks that what was deleted since it was saved is still told.
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
