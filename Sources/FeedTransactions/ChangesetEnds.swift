/// The known ends of the changesets topic's partitions.
///
/// The worker commits the ends with the input's offsets. The worker that restores the feeds next rejects an
/// earlier end: a former leader that was cut off and still answers would make it restore feeds from before
/// the committed input.
///
/// Each end is a lower bound: others may write to the partition, as aborted transactions do. It is never
/// before a record of this worker, because ``correct(_:to:)`` adopts the offsets that brokers report.
package struct ChangesetEnds: Equatable {
  private var ends: [Int32: Int64] = [:]
  /// The numbers of records of the open transaction.
  private var pending: [Int32: Int64] = [:]

  /// Sets the end of a partition.
  package mutating func note(_ end: Int64, of partition: Int32) { ends[partition] = end }

  /// Counts a record that was queued for a partition.
  package mutating func add(to partition: Int32) { pending[partition, default: 0] += 1 }

  /// Adopts the end that a broker reports for the open transaction's records in a partition.
  ///
  /// - Returns: whether the reported end is after the counted one.
  package mutating func correct(_ partition: Int32, to end: Int64) -> Bool {
    guard let count = pending[partition], end > ends[partition, default: 0] + count else { return false }
    ends[partition] = end - count
    return true
  }

  /// The partitions in which the open transaction has records.
  package var written: [Int32] { Array(pending.keys) }

  /// Handles a commit: a marker follows the transaction's records in each partition.
  package mutating func commit() {
    for (partition, count) in pending {
      if let end = ends[partition] { ends[partition] = end + count + 1 }
    }
    pending = [:]
  }

  /// Handles a transaction that was aborted or has an unknown outcome.
  package mutating func discard() { pending = [:] }

  /// A lower bound of a partition's end; nil if unknown. Records between it and the true end belong to
  /// aborted transactions or to the last committed ones.
  package func end(of partition: Int32) -> Int64? { ends[partition] }

  /// The same bound after a commit of the open transaction.
  package func endIfCommitted(of partition: Int32) -> Int64? {
    ends[partition].map { $0 + pending[partition, default: 0] }
  }
}
