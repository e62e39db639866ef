import FeedConfiguration
import FeedKafka
import Kafka
import Service

/// Where the reading of an input partition begins, and why.
struct InputStart: Equatable {
  enum Finding: Equatable {
    /// Where the group has left off.
    case committed
    /// The group has never committed: the reading begins at the earliest record.
    case noneCommitted
    /// Input is gone, and the reading goes on without it; in words.
    case lost(String)
  }

  let position: TopicPartitionOffset
  let finding: Finding

  /// Whether input is passed over that is gone.
  var isLoss: Bool {
    if case .lost = finding { true } else { false }
  }

  /// - Parameters:
  ///   - committed: the group's offset; nil if it has none.
  ///   - ends: where the partition begins and ends.
  /// - Throws: ``DaemonError`` with the exact gap, if input is gone and the policy is to fail.
  init(
    _ partition: TopicPartition,
    committed: Int64?,
    _ ends: Watermarks,
    _ policy: LostInputPolicy
  ) throws(DaemonError) {
    guard let committed else {
      position = TopicPartitionOffset(partition, offset: ends.low)
      finding = .noneCommitted
      return
    }
    guard let loss = Self.loss(partition, committed, ends) else {
      position = TopicPartitionOffset(partition, offset: committed)
      finding = .committed
      return
    }
    guard policy == .continue else {
      throw DaemonError(.lostInput, "\(loss); \(Self.remedy(committed, ends))")
    }
    position = TopicPartitionOffset(partition, offset: ends.low)
    finding = .lost(loss)
  }

  /// What is missing, in words; nil if nothing is.
  private static func loss(_ partition: TopicPartition, _ committed: Int64, _ ends: Watermarks) -> String? {
    if committed < ends.low {
      let count = ends.low - committed
      let range = count == 1 ? "offset \(committed)" : "offsets \(committed) to \(ends.low - 1)"
      return """
        input is lost: of \(partition), \(range) (\(Quantity.count(count)) in all) are gone before they were \
        read: the group has committed \(committed), and the topic begins at \(ends.low)
        """
    }
    if committed > ends.high {
      return """
        input is lost: \(partition) ends at \(ends.high), but the group has committed \(committed), \
        \(Quantity.count(committed - ends.high)) beyond: the topic was truncated or recreated
        """
    }
    return nil
  }

  private static func remedy(_ committed: Int64, _ ends: Watermarks) -> String {
    if committed > ends.high {
      return """
        feeds pass over records up to the offsets they have taken, so going on would lose what is new: set \
        kafka.group.id and topics.changesets to new names, so that all feeds are rebuilt from the input
        """
    }
    return """
      send again what is missing and reset the group's offset, or set kafka.onLostInput to \
      "continue" to go on at the earliest record, offset \(ends.low), without it
      """
  }
}
