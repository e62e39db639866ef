import FeedKafka
import FeedStore
import Kafka

/// How many partitions the topics have, once that is known to be right.
struct TopicLayout: Equatable {
  /// Partitions of each input topic.
  let inputPartitions: Int32
  /// Partitions of the topic for rejected records.
  let rejectedPartitions: Int32

  /// - Throws: ``DaemonError`` that names the topics, their partitions and the remedy.
  init(_ topics: TopicNames, _ metadata: TopicMetadata) throws(DaemonError) {
    let missing = topics.distinct.filter { metadata.partitionCounts[$0] == nil }
    guard missing.isEmpty else {
      let names = missing.joined(separator: ", ")
      throw DaemonError(
        .missingTopic,
        """
        \(missing.count == 1 ? "topic \(names) does" : "topics \(names) do") not exist, or may not be read; \
        create \(missing.count == 1 ? "it" : "them") (feedstore topics --create), or set topics.* to other names
        """
      )
    }
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

  /// A partition that was assigned although the topics did not have it when the daemon began.
  ///
  /// Reading it would begin feeds anew that have moved there, before somebody has decided what becomes of them.
  func unexpected(_ number: Int32, _ topics: TopicNames) -> DaemonError {
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

  /// What to do about feeds whose keys hash to another partition after the inputs have got more.
  static let movedFeedsRemedy = """
    Send such feeds again as a whole (feed.replace), and delete the old copies (feed.delete, sent to the old \
    partition). Or set topics.* and kafka.group.id to new names, and send all feeds again
    """

  /// Where a rejected record of an input partition goes.
  func rejectedPartition(of partition: Int32) -> Int32 { partition % rejectedPartitions }
}
