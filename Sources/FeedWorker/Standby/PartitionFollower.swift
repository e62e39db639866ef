package import Kafka

/// What follows partitions of the changesets topic in this process besides the workers, and hands out what it knows of them:
/// ``Standby``, or the follower that also serves HTTP.
///
/// Workers call it from their threads.
package protocol PartitionFollower: AnyObject, Sendable {
  /// What is followed.
  var figures: StandbyFigures { get }

  /// A worker has restored what it was assigned first, and knows the topics: what others have may be followed from now on.
  ///
  /// - Parameter count: how many partitions there are, from 0 on.
  func begin(partitions count: Int32)
  /// A worker restores a partition, and owns it until it gives it back.
  ///
  /// - Parameter ends: where the partition begins and ends now.
  /// - Returns: what was followed of it; nil if that is nothing that a restoration can continue from.
  func take(_ number: Int32, within ends: Watermarks) -> sending ChangesetPartition?
  /// A worker has read a partition to its end, and is about to hand its feeds to the store.
  func noteRestored(_ changesets: ChangesetPartition)
  /// A partition that a worker owns cannot be restored.
  func noteStopped(_ number: Int32)
  /// Whether ``giveBack(_:_:)`` needs to know what the worker has of a partition.
  func needsState(of number: Int32) -> Bool
  /// A worker has given up a partition.
  ///
  /// - Parameter changesets: what it knows of it; nil if that is not what was published, or is not needed.
  func giveBack(_ number: Int32, _ changesets: sending ChangesetPartition?)
}
