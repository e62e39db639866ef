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
        create \(sections < items ? topics.sections : topics.items) again with \(max(sections, items)), \
        as adding partitions would move feeds that are there
        """
      )
    }
    let changesets = count(topics.changesets)
    guard changesets >= items else {
      throw DaemonError(
        .partitionCounts,
        """
        topic \(topics.changesets) has \(changesets) partitions, fewer than the \(items) of \(topics.items); \
        a feed's changesets go to the partition of its input: add partitions up to \(items)
        """
      )
    }
    inputPartitions = items
    rejectedPartitions = count(topics.rejected)
  }

  /// Where a rejected record of an input partition goes.
  func rejectedPartition(of partition: Int32) -> Int32 { partition % rejectedPartitions }
}
