/// How far partitions of the changesets topic reach at least, as far as this worker knows.
///
/// It goes with the offsets that are committed, and whoever restores the feeds next does not believe a broker that
/// names an earlier end: one that was cut off while others took over, and still answers, would have it restore feeds
/// as they were before what the offsets stand for. A bound from below: what others, or aborted transactions, have
/// written is not counted.
struct ChangesetEnds: Equatable {
  private var ends: [Int32: Int64] = [:]
  /// Records of the open transaction.
  private var pending: [Int32: Int64] = [:]

  /// A partition was found to reach to an offset.
  mutating func note(_ end: Int64, of partition: Int32) { ends[partition] = end }

  /// A record was queued for a partition.
  mutating func add(to partition: Int32) { pending[partition, default: 0] += 1 }

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
