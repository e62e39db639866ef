package import Diagnostics
package import FeedConfiguration
package import FeedKafka
package import Kafka

/// The first offset to read in an input partition, with the reason.
package struct InputStart: Equatable {
  package enum Finding: Equatable {
    /// At the group's committed offset.
    case committed
    /// At the earliest record, because the group has never committed an offset.
    case noneCommitted
    /// Input was deleted before it was read, and is skipped. The text describes the loss.
    case lost(String)
    /// The topic ends before the committed offset, because it was truncated or recreated: its offsets have started over. The
    /// text describes the loss.
    case restarted(String)
  }

  package let position: TopicPartitionOffset
  /// The end of the partition.
  package let end: Int64
  package private(set) var finding: Finding

  /// Whether deleted input is skipped.
  package var isLoss: Bool {
    switch finding {
    case .lost, .restarted: true
    case .committed, .noneCommitted: false
    }
  }

  package var isRestarted: Bool {
    if case .restarted = finding { true } else { false }
  }

  /// - Parameters:
  ///   - committed: the group's offset, if any.
  ///   - ends: the ends of the partition.
  ///   - renewal: the settings that rebuild all feeds, for the error's text.
  /// - Throws: ``DaemonError`` with the exact gap, if input is lost and the policy is to fail.
  package init(
    _ partition: TopicPartition,
    committed: Int64?,
    _ ends: Watermarks,
    _ policy: LostInputPolicy,
    _ renewal: String = InputStart.renewal
  ) throws(DaemonError) {
    end = ends.high
    guard let committed else {
      position = TopicPartitionOffset(partition, offset: ends.low)
      finding = .noneCommitted
      return
    }
    finding = Self.finding(partition, committed, ends)
    try Self.check(finding, ends, policy, renewal)
    position = TopicPartitionOffset(partition, offset: finding == .committed ? committed : ends.low)
  }

  /// Handles feeds that have taken a record beyond the end of the partition.
  ///
  /// - Parameters:
  ///   - taken: the offset of the record, from the feeds' `through`.
  /// - Throws: ``DaemonError`` with both offsets, if the policy is to fail.
  package mutating func restart(
    taken: Int64,
    _ ends: Watermarks,
    _ policy: LostInputPolicy
  ) throws(DaemonError) {
    finding = .restarted(
      """
      input is lost: \(position.topicPartition) ends at \(ends.high), but feeds have taken records of it up to offset \
      \(taken) (`through`): the topic was truncated or recreated
      """
    )
    try Self.check(finding, ends, policy)
  }

  package static let renewal =
    "kafka.group.id and topics.changesets to new names, so that all feeds are rebuilt from the input"

  package func log(_ log: Log) {
    switch finding {
    case .committed: break
    case .noneCommitted:
      let text = "no committed offset; starting at the earliest record"
      log.write(.inputNoCommittedOffset, text, ["start": position])
    case .lost(let loss), .restarted(let loss):
      log.write(.inputLost, loss + "; continuing without it", ["start": position])
    }
  }

  /// Compares an offset with the ends of a partition, and describes the exact gap if records are missing.
  package static func finding(_ partition: TopicPartition, _ offset: Int64, _ ends: Watermarks) -> Finding {
    if offset < ends.low {
      let count = ends.low - offset
      let range = count == 1 ? "offset \(offset)" : "offsets \(offset) to \(ends.low - 1)"
      return .lost(
        """
        input is lost: of \(partition), \(range) (\(Quantity.count(count)) in all) are gone before they were \
        read: the group has committed \(offset), and the topic begins at \(ends.low)
        """
      )
    }
    if offset > ends.high {
      return .restarted(
        """
        input is lost: \(partition) ends at \(ends.high), but the group has committed \(offset), \
        \(Quantity.count(offset - ends.high)) beyond: the topic was truncated or recreated
        """
      )
    }
    return .committed
  }

  /// - Throws: ``DaemonError`` for a loss, if the policy is to fail.
  package static func check(
    _ finding: Finding,
    _ ends: Watermarks,
    _ policy: LostInputPolicy,
    _ renewal: String = InputStart.renewal
  ) throws(DaemonError) {
    guard policy == .fail else { return }
    switch finding {
    case .committed, .noneCommitted: return
    case .lost(let loss):
      throw DaemonError(
        .lostInput,
        """
        \(loss); send again what is missing and reset the group's offset, or set kafka.onLostInput to \
        "continue" to go on at the earliest record, offset \(ends.low), without it
        """
      )
    case .restarted(let loss):
      throw DaemonError(
        .lostInput,
        """
        \(loss); set kafka.onLostInput to "continue" for a start, so that the feeds stay as they are and what the topic \
        has now is applied to them; or set \(renewal)
        """
      )
    }
  }
}
