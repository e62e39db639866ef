/// Where partitions of the changesets topic end, as far as this worker knows.
///
/// The end is committed with the input's offsets, and the worker that restores the feeds next does not believe a broker
/// that reports an earlier one. A former leader that was cut off and still answers would make it restore feeds as
/// they were before the input that the offsets stand for.
///
/// A lower bound: others may write to the partition, for example a transaction that is aborted. It is never before a
/// record that this worker has published, since ``correct(_:to:)`` takes over the offsets that brokers report.
struct ChangesetEnds: Equatable {
  private var ends: [Int32: Int64] = [:]
  /// Records of the open transaction.
  private var pending: [Int32: Int64] = [:]

  /// A partition was found to reach to an offset.
  mutating func note(_ end: Int64, of partition: Int32) { ends[partition] = end }

  /// A record was queued for a partition.
  mutating func add(to partition: Int32) { pending[partition, default: 0] += 1 }

  /// A broker reports the end of the open transaction's records in a partition.
  ///
  /// - Returns: whether it is behind the end that follows from counting them.
  mutating func correct(_ partition: Int32, to end: Int64) -> Bool {
    guard let count = pending[partition], end > ends[partition, default: 0] + count else { return false }
    ends[partition] = end - count
    return true
  }

  /// The partitions in which the open transaction has records.
  var written: [Int32] { Array(pending.keys) }

  /// The transaction was committed: behind its records, each partition has a marker.
  mutating func commit() {
    for (partition, count) in pending {
      if let end = ends[partition] { ends[partition] = end + count + 1 }
    }
    pending = [:]
  }

  /// The transaction was aborted, or it is not known what became of it.
  mutating func discard() { pending = [:] }

  /// How far a partition reaches at least; nil if nothing is known. What lies between it and the true end is either of aborted
  /// transactions, or of the last ones that were committed.
  func end(of partition: Int32) -> Int64? { ends[partition] }

  /// The same if the open transaction is committed.
  func endIfCommitted(of partition: Int32) -> Int64? {
    ends[partition].map { $0 + pending[partition, default: 0] }
  }
}
