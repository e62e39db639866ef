package import Kafka

/// Follows partitions of the changesets topic besides the workers of this process, and exchanges them with the workers.
///
/// Workers call it on their threads.
package protocol PartitionFollower: AnyObject, Sendable {
  var status: StandbyStatus { get }

  /// A worker has restored its first assignment, and knows the topics: from now on, partitions of others may be followed.
  ///
  /// - Parameter count: the number of partitions.
  func begin(partitions count: Int32)
  /// A worker restores a partition, and owns it until it gives it back.
  ///
  /// - Parameter ends: where the partition begins and ends now.
  /// - Returns: what was followed of it; nil if a restoration cannot continue from there.
  func take(_ number: Int32, within ends: Watermarks) -> sending ReadPartition?
  /// A worker has read a partition to its end, and is about to hand its feeds to the store.
  func noteRestored(_ partition: ReadPartition)
  /// A partition that a worker owns cannot be restored.
  func noteStopped(_ number: Int32)
  /// Whether ``giveBack(_:_:)`` needs the feeds that a worker has of a partition.
  func needsState(of number: Int32) -> Bool
  /// A worker has given up a partition.
  ///
  /// - Parameter partition: what it has read or published; nil if that is not needed, or is not the published state.
  func giveBack(_ number: Int32, _ partition: sending ReadPartition?)
}

/// What a process follows besides the partitions of its workers.
package struct StandbyStatus: Sendable, Equatable {
  /// Partitions that are followed up to their ends, so that a takeover has little left to read.
  package var followed: [Int32] = []
  /// Partitions that are being read from their beginnings.
  package var reading: [Int32] = []
  /// Partitions that do not fit into the bound.
  package var tooLarge: [Int32] = []
  /// Partitions with a record that is malformed or does not fit.
  package var damaged: [Int32] = []
  /// The state of those that are followed or read, in bytes by the formula of `StateSize`.
  package var bytes = 0
  /// Their offsets that have not been read yet, as far as brokers have reported.
  package var lag: Int64 = 0
  /// Records of the changesets topic that were read, and bytes of their keys and values.
  package var records = 0
  package var recordBytes = 0
  /// Partitions that workers continued from here, and those that they read from their beginnings.
  package var warmTakeovers = 0
  package var coldTakeovers = 0

  package init() {}
}
