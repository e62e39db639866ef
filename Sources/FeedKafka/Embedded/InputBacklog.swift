package import Kafka
import Synchronization

/// How far the process's workers have read the input of its embedded broker.
///
/// That broker drops the oldest records, read or not, so producers are held back while anything is unread.
package final class InputBacklog: Sendable {
  /// For each worker, its partitions and the offset up to which each has been read; nil before the first assignment.
  private let positions = Mutex<[Int: [TopicPartition: Int64]]?>(nil)

  /// Replaces a worker's partitions by a new assignment. Revoked partitions still have to be read: the next assignment
  /// gives them to this worker or another.
  package func assign(_ partitions: [TopicPartition], to worker: Int) {
    positions.withLock { positions in
      var all = positions ?? [:]
      all[worker] = Dictionary(partitions.map { ($0, -1) }) { $1 }
      positions = all
    }
  }

  /// Records that a worker has read up to these offsets.
  package func read(_ offsets: [TopicPartition: Int64], by worker: Int) {
    positions.withLock { positions in
      guard var own = positions?[worker] else { return }
      for (partition, offset) in offsets where own[partition] != nil { own[partition] = offset }
      positions?[worker] = own
    }
  }

  /// A partition with unread records; nil if there is none. Partitions of group members in other processes are unknown,
  /// and count as read.
  ///
  /// - Parameter ends: the end offsets of the partitions.
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
