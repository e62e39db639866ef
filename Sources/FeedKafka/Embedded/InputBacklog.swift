package import Kafka
import Synchronization

/// How far the process's workers have read the input of its embedded broker.
///
/// That broker throws away what is oldest, read or not; so producers are held back while something is unread.
package final class InputBacklog: Sendable {
  /// By worker, the partitions that it has and the offset up to which each is read; nil before the first assignment.
  private let positions = Mutex<[Int: [TopicPartition: Int64]]?>(nil)

  /// The group has given a worker these partitions in place of those it had. What it gives up is still to be read: it
  /// comes back with the next assignment, or to somebody else.
  package func assign(_ partitions: [TopicPartition], to worker: Int) {
    positions.withLock { positions in
      var all = positions ?? [:]
      all[worker] = Dictionary(partitions.map { ($0, -1) }) { $1 }
      positions = all
    }
  }

  /// A worker has read up to these offsets.
  package func read(_ offsets: [TopicPartition: Int64], by worker: Int) {
    positions.withLock { positions in
      guard var own = positions?[worker] else { return }
      for (partition, offset) in offsets where own[partition] != nil { own[partition] = offset }
      positions?[worker] = own
    }
  }

  /// A partition of which records are unread; nil if there is none. What members of the group in other processes
  /// have is not known, and counts as read.
  ///
  /// - Parameter ends: where the partitions end.
  func firstUnread(_ ends: [TopicPartition: Int64]) -> TopicPartition? {
    positions.withLock { positions in
      func isRead(_ partition: TopicPartition, _ end: Int64) -> Bool {
        guard let positions else { return end == 0 }
        return positions.values.allSatisfy { $0[partition].map { $0 >= end } ?? true }
      }
      return ends.first { !isRead($0.key, $0.value) }?.key
    }
  }
}
