package import Kafka

/// Follows partitions of the changesets topic apart from the workers, and exchanges them with the workers.
///
/// Workers call it on their threads.
package protocol PartitionFollower: AnyObject, Sendable {
  var status: StandbyStatus { get }

  /// A worker has restored its first assignment, and knows the topics: from now on, other partitions may be followed.
  ///
  /// - Parameter count: the number of partitions.
  func begin(partitions count: Int32)
  /// A worker restores a partition, and owns it until it gives it back.
  ///
  /// - Parameter ends: the current ends of the partition.
  /// - Returns: the followed replicas; nil if a restoration cannot continue from them.
  func take(_ number: Int32, within ends: Watermarks) -> sending ReadPartition?
  /// A worker has read a partition to its end, and is about to pass its feeds to the store.
  func noteRestored(_ partition: ReadPartition)
  /// A worker's partition cannot be restored.
  func noteStopped(_ number: Int32)
  /// Whether ``giveBack(_:_:)`` needs a worker's feeds.
  func needsState(of number: Int32) -> Bool
  /// A worker has given up a partition.
  ///
  /// - Parameter partition: the worker's replicas; nil if they are not needed, or are not the published state.
  func giveBack(_ number: Int32, _ partition: sending ReadPartition?)
}

/// The partitions that a process follows for other processes.
package struct StandbyStatus: Sendable, Equatable {
  /// Partitions that are followed up to their ends, so that a takeover is short.
  package var followed: [Int32] = []
  /// Partitions that are being read from their beginnings.
  package var reading: [Int32] = []
  /// Partitions that exceed the limit on memory.
  package var tooLarge: [Int32] = []
  /// Partitions with a record that is malformed or does not apply.
  package var damaged: [Int32] = []
  /// The state of followed partitions, in bytes by the formula of `StateSize`.
  package var bytes = 0
  /// The number of unread offsets, as far as brokers have reported.
  package var lag: Int64 = 0
  /// Records of the changesets topic that were read, and bytes of their keys and values.
  package var records = 0
  package var recordBytes = 0
  /// The number of partitions that workers continued from here, and of those that they read from their
  /// beginnings.
  package var warmTakeovers = 0
  package var coldTakeovers = 0

  package init() {}
}
