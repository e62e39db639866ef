import FeedKafka
package import FeedStore
package import Kafka
package import Service

/// How many partitions the topics have, and how that has changed since the daemon began to work with them.
///
/// A change counts until the process ends, even if it is undone: a topic that was deleted and created again is another one.
package struct TopicChanges: Equatable {
  /// What has become of one topic.
  package struct Change: Equatable {
    package let topic: String
    let before: Int32
    /// 0 if the topic is gone.
    let after: Int32
    /// What it means and what to do.
    let remedy: String

    package var description: String {
      let partitions = before == 1 ? "1 partition" : "\(before) partitions"
      let now = after == 0 ? "is gone" : after == before ? "was created again" : "has \(after) now"
      return "topic \(topic) had \(partitions) and \(now): \(remedy)"
    }

    package var fields: LogFields {
      ["topic": topic, "before": Int(before), "after": Int(after), "remedy": remedy]
    }
  }

  private struct Counts: Equatable {
    let before: Int32
    let after: Int32
  }

  private let topics: TopicNames
  /// What the daemon works with.
  private let known: [String: Int32]
  private var changes: [String: Counts] = [:]
  /// The numbers that are less than before and were heard once: a broker may not have heard of all topics yet.
  private var doubtful: [String: Int32] = [:]

  package init(_ topics: TopicNames, _ metadata: TopicMetadata) {
    self.topics = topics
    known = metadata.partitionCounts
  }

  /// All changes, in the order of the topics.
  package var all: [Change] { topics.distinct.compactMap(change) }

  /// Compares an answer of the brokers with the one before.
  ///
  /// - Returns: what is new.
  package mutating func note(_ metadata: TopicMetadata) -> [Change] {
    let changed = topics.distinct.filter { topic in
      let (last, count) = (count(of: topic), metadata.partitionCounts[topic] ?? 0)
      let isDoubtful = count < last && doubtful[topic] != count
      doubtful[topic] = isDoubtful ? count : nil
      guard count != last, !isDoubtful else { return false }
      changes[topic] = Counts(before: known[topic] ?? 0, after: count)
      return true
    }
    return changed.compactMap(change)
  }

  /// Notes that offsets were committed when the inputs had a smaller number of partitions.
  ///
  /// - Returns: what is new.
  package mutating func note(earlierInputs count: Int32) -> [Change] {
    let changed = topics.inputs.filter { topic in
      guard let after = known[topic], count < after, changes[topic] == nil else { return false }
      changes[topic] = Counts(before: count, after: after)
      return true
    }
    return changed.compactMap(change)
  }

  private func count(of topic: String) -> Int32 { changes[topic]?.after ?? known[topic] ?? 0 }

  private func change(_ topic: String) -> Change? {
    changes[topic].map {
      Change(topic: topic, before: $0.before, after: $0.after, remedy: remedy(topic, $0))
    }
  }

  private func remedy(_ topic: String, _ counts: Counts) -> String {
    let isGone = counts.after == 0
    let creation =
      isGone ? "create it again (feedstore topics --create --partitions \(counts.before)), and " : ""
    if counts.after > counts.before { return growthRemedy(topic, counts) }
    if topic == topics.rejected { return creation + "restart feedstore" }
    if topic == topics.changesets {
      return """
        what was published is gone; stop feedstore, \(creation)set a new kafka.group.id, so that all feeds are \
        rebuilt from the input
        """
    }
    return "its records are gone; \(creation)restart feedstore, which says what is lost"
  }

  private func growthRemedy(_ topic: String, _ counts: Counts) -> String {
    let most = topics.inputs.map(count).max() ?? 0
    let haveInputsGrown = topics.inputs.contains { changes[$0].map { $0.after > $0.before } == true }
    guard haveInputsGrown, topic != topics.rejected else {
      return "no feed is affected; restart feedstore to use the new partitions"
    }
    if topics.inputs.contains(where: { changes[$0] != nil && count(of: $0) == known[$0] }) {
      return """
        feeds whose keys hash to another partition since then start over there, and their old copies stay. \
        \(TopicLayout.movedFeedsRemedy)
        """
    }
    let lacking = (topics.inputs + [topics.changesets]).filter { count(of: $0) < most }
    let addition =
      lacking.isEmpty
      ? "Restart" : "Add partitions up to \(most) to \(lacking.joined(separator: " and ")), and restart"
    let first = topics.inputs.compactMap { known[$0] }.min() ?? 0
    return """
      feeds whose keys now hash to partition \(first) or above are frozen, because feedstore does not read these \
      partitions. \(addition) feedstore to read them. The feeds start over there, and their old copies stay. \
      \(TopicLayout.movedFeedsRemedy)
      """
  }
}
