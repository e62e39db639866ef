package import Diagnostics
package import FeedStore
package import Kafka

/// The topics' partition counts, after they were checked.
package struct TopicLayout: Equatable {
  package let inputPartitions: Int32
  package let rejectedPartitions: Int32

  /// - Throws: ``DaemonError`` that names the topics, their partitions and the remedy.
  package init(_ topics: TopicNames, _ metadata: TopicMetadata) throws(DaemonError) {
    let missing = topics.distinct.filter { metadata.partitionCounts[$0] == nil }
    guard missing.isEmpty else { throw .missing(missing) }
    func count(_ topic: String) -> Int32 { metadata.partitionCounts[topic] ?? 0 }

    let (sections, items) = (count(topics.sections), count(topics.items))
    guard sections == items else {
      throw DaemonError(
        .partitionCounts,
        """
        topic \(topics.sections) has \(sections) partitions and \(topics.items) has \(items); \
        they must have equally many, so that a feed's records meet in one partition: \
        add partitions to \(sections < items ? topics.sections : topics.items) up to \(max(sections, items)). \
        If there are feeds, those whose keys then hash to another partition start over there, and their old copies \
        stay. \(Self.movedFeedsRemedy)
        """
      )
    }
    let changesets = count(topics.changesets)
    guard changesets >= items else {
      throw DaemonError(
        .partitionCounts,
        """
        topic \(topics.changesets) has \(changesets) partitions, fewer than the \(items) of \(topics.items); \
        a feed's changesets go to the partition of its input: add partitions up to \(items). If the inputs had \
        fewer when the feeds were made, feeds whose keys now hash to another partition start over there, and their \
        old copies stay. \(Self.movedFeedsRemedy)
        """
      )
    }
    inputPartitions = items
    rejectedPartitions = count(topics.rejected)
  }

  /// The error for an assigned partition that the topics did not have when the daemon started.
  ///
  /// Reading it would recreate the feeds that have moved there, before an operator has decided about them.
  package func unexpected(_ number: Int32, _ topics: TopicNames) -> DaemonError {
    DaemonError(
      .partitionCounts,
      """
      \(topics.inputs.joined(separator: " and ")) had \(inputPartitions) partitions when feedstore started, and now \
      partition \(number) is assigned: its records are not read. Make sure that the inputs and \(topics.changesets) have \
      equally many partitions, and restart feedstore to read them. Feeds whose keys now hash to another partition \
      start over there, and their old copies stay. \(Self.movedFeedsRemedy)
      """
    )
  }

  /// The remedy for feeds whose keys hash to another partition after partitions were added to the inputs.
  package static let movedFeedsRemedy = """
    Send such feeds again as a whole (feed.replace), and delete the old copies (feed.delete, sent to the old \
    partition). Or set topics.* and kafka.group.id to new names, and send all feeds again
    """

  /// The partition of the rejected topic for records of an input partition.
  package func rejectedPartition(of partition: Int32) -> Int32 { partition % rejectedPartitions }
}

/// The changes of the topics' partition counts since the daemon started.
///
/// A change counts until the process ends, even if it is undone: a topic that was deleted and recreated is a different one.
package struct TopicChanges: Equatable {
  /// A change of one topic.
  package struct Change: Equatable {
    package let topic: String
    package let before: Int32
    /// 0 if the topic was deleted.
    package let after: Int32
    /// The change's consequences and the remedy.
    package var remedy = ""

    /// Whether records are lost.
    package var isLoss: Bool { after < before }

    package var description: String {
      let partitions = before == 1 ? "1 partition" : "\(before) partitions"
      let now = after == 0 ? "is gone" : after == before ? "was created again" : "has \(after) now"
      return "topic \(topic) had \(partitions) and \(now): \(remedy)"
    }

    package var fields: LogFields {
      ["topic": topic, "before": Int(before), "after": Int(after), "remedy": remedy]
    }
  }

  private let topics: TopicNames
  private let isIngesting: Bool
  /// The partition counts at the daemon's start.
  private let known: [String: Int32]
  /// The changes without their remedies, which depend on each other.
  private var changes: [String: Change] = [:]
  /// Lower counts that brokers have reported once: a broker may not know all topics yet.
  private var doubtful: [String: Int32] = [:]

  /// - Parameters:
  ///   - metadata: the metadata of the watched topics.
  ///   - isIngesting: whether the daemon writes records of feeds instead of reading them.
  package init(_ topics: TopicNames, _ metadata: TopicMetadata, isIngesting: Bool = false) {
    self.topics = topics
    self.isIngesting = isIngesting
    known = metadata.partitionCounts
  }

  /// All changes that make the daemon not ready, in the order of the topics. New partitions for contents do not: it
  /// reads them.
  package var all: [Change] {
    topics.distinct.compactMap(change).filter { $0.topic != topics.contents || $0.after <= $0.before }
  }

  /// Compares the brokers' answer with the previous one.
  ///
  /// - Returns: the new changes.
  package mutating func note(_ metadata: TopicMetadata) -> [Change] {
    let changed = topics.distinct.filter { topic in
      guard known[topic] != nil else { return false }
      let (last, count) = (count(of: topic), metadata.partitionCounts[topic] ?? 0)
      let isDoubtful = count < last && doubtful[topic] != count
      doubtful[topic] = isDoubtful ? count : nil
      guard count != last, !isDoubtful else { return false }
      changes[topic] = Change(topic: topic, before: known[topic] ?? 0, after: count)
      return true
    }
    return changed.compactMap(change)
  }

  /// Records that offsets were committed when the inputs had fewer partitions.
  ///
  /// - Returns: the new changes.
  package mutating func note(earlierInputs count: Int32) -> [Change] {
    let changed = topics.inputs.filter { topic in
      guard let after = known[topic], count < after, changes[topic] == nil else { return false }
      changes[topic] = Change(topic: topic, before: count, after: after)
      return true
    }
    return changed.compactMap(change)
  }

  /// The topic's number of partitions; 0 if it is not known.
  package func count(of topic: String) -> Int32 { changes[topic]?.after ?? known[topic] ?? 0 }

  private func change(_ topic: String) -> Change? {
    guard var change = changes[topic] else { return nil }
    change.remedy = remedy(change)
    return change
  }

  private func remedy(_ change: Change) -> String {
    if change.after > change.before { return growthRemedy(change.topic) }
    let isGone = change.after == 0
    let creation =
      isGone ? "create it again (feedstore topics --create --partitions \(change.before)), and " : ""
    if change.topic == topics.rejected { return creation + "restart feedstore" }
    if change.topic == topics.contents {
      return """
        its contents are gone, and items lose them with the next start; \(creation)send all contents again, and then restart \
        feedstore
        """
    }
    if change.topic == topics.changesets {
      return """
        what was published is gone; stop feedstore, \(creation)set a new kafka.group.id, so that all feeds are \
        rebuilt from the input
        """
    }
    let remedy =
      isIngesting
      ? "set ingest.group to a new name, so that all rows are mapped again"
      : "restart feedstore, which says what is lost"
    return "its records are gone; \(creation)\(remedy)"
  }

  private func growthRemedy(_ topic: String) -> String {
    if topic == topics.contents {
      return """
        feedstore reads the new partitions, too. Contents that were sent before may be in another partition than their ids \
        hash to now, and win after a restart: create a new topic with that number of partitions, send all contents to it, \
        and set topics.contents to it
        """
    }
    let most = topics.inputs.map(count).max() ?? 0
    let haveInputsGrown = topics.inputs.contains { changes[$0].map { $0.after > $0.before } == true }
    guard haveInputsGrown, topic != topics.rejected else {
      return "no feed is affected; restart feedstore to use the new partitions"
    }
    if isIngesting {
      return """
        records go on to the first \(known[topic] ?? 0) partitions, and those of other producers may not. Restart \
        feedstore ingest together with feedstore run. Feeds whose keys then hash to another partition start over \
        there, and their old copies stay. \(TopicLayout.movedFeedsRemedy)
        """
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
