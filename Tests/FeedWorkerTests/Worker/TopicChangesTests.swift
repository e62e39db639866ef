import FeedKafka
import FeedStore
import Testing

@testable import FeedWorker
@testable import Kafka

struct TopicChangesTests {
  /// Topics with two partitions each.
  private static func changes() -> TopicChanges {
    TopicChanges(TopicNames(), TopicLayoutTests.metadata(2, 2, 2, 2))
  }

  /// The changes in an answer: topics with their numbers before and after.
  private static func note(_ metadata: TopicMetadata, _ changes: inout TopicChanges) -> [String] {
    changes.note(metadata).map { "\($0.topic): \($0.before) \($0.after)" }
  }

  @Test func `what is as it was is no change`() {
    var changes = Self.changes()
    #expect(Self.note(TopicLayoutTests.metadata(2, 2, 2, 2), &changes).isEmpty)
    #expect(changes.all.isEmpty)
  }

  @Test func `partitions that are added to any topic are told at once, and once`() {
    for counts: [Int32] in [[4, 2, 2, 2], [2, 4, 2, 2], [2, 2, 4, 2], [2, 2, 2, 4]] {
      var changes = Self.changes()
      let metadata = TopicLayoutTests.metadata(counts[0], counts[1], counts[2], counts[3])
      let topic = TopicNames().distinct[counts.firstIndex(of: 4) ?? 0]
      #expect(Self.note(metadata, &changes) == ["\(topic): 2 4"])
      #expect(Self.note(metadata, &changes).isEmpty)
      #expect(changes.all.map(\.topic) == [topic])
    }
  }

  @Test func `what ingest should do is said, of the topics that it writes`() {
    let metadata = TopicLayoutTests.metadata(2, 2, 2, 2)
    var written = TopicMetadata()
    for topic in ["feeds.items", "feeds.rejected"] { written.partitionCounts[topic] = 2 }
    var changes = TopicChanges(TopicNames(), written, isIngesting: true)
    #expect(Self.note(metadata, &changes).isEmpty, "it does not know the others")
    let growth = changes.note(TopicLayoutTests.metadata(4, 4, 4, 2))
    #expect(growth.map(\.topic) == ["feeds.items"])
    #expect(growth[0].remedy.contains("records go on to the first 2 partitions"))
    #expect(growth[0].remedy.contains("Restart feedstore ingest together with feedstore run"))
    #expect(!growth[0].isLoss)
    // Twice, as a broker may not have heard of all partitions.
    #expect(changes.note(TopicLayoutTests.metadata(4, 1, 4, 2)).isEmpty)
    let loss = changes.note(TopicLayoutTests.metadata(4, 1, 4, 2))
    #expect(loss.map(\.isLoss) == [true])
    #expect(loss[0].remedy.contains("set ingest.group to a new name"))
  }

  @Test func `if one input has more, the remedy names the topics that lack partitions`() {
    var changes = Self.changes()
    let remedy = changes.note(TopicLayoutTests.metadata(2, 4, 2, 2)).first?.remedy
    #expect(remedy?.contains("keys now hash to partition 2 or above are frozen") == true)
    #expect(remedy?.contains("up to 4 to feeds.sections and feeds.changesets, and restart") == true)
    #expect(remedy?.contains("feed.replace") == true)
  }

  @Test func `if both inputs have more, the remedy names the changesets topic`() {
    var changes = Self.changes()
    for change in changes.note(TopicLayoutTests.metadata(4, 4, 2, 2)) {
      #expect(change.remedy.contains("Add partitions up to 4 to feeds.changesets, and restart"))
    }
    #expect(changes.all.count == 2)
  }

  @Test func `if all topics have more, the remedy says what happens to feeds whose keys have moved`() {
    var changes = Self.changes()
    #expect(changes.note(TopicLayoutTests.metadata(4, 2, 2, 2)).count == 1)
    #expect(Self.note(TopicLayoutTests.metadata(4, 4, 4, 4), &changes).count == 3)
    #expect(changes.all.count == 4)
    for change in changes.all where change.topic != "feeds.rejected" {
      #expect(change.remedy.contains("are frozen"))
      #expect(change.remedy.contains("Restart feedstore to read them. The feeds start over there"))
      #expect(change.remedy.contains("delete the old copies"))
    }
  }

  @Test func `more partitions for output alone affect no feed`() {
    var changes = Self.changes()
    for change in changes.note(TopicLayoutTests.metadata(2, 2, 4, 4)) {
      #expect(change.remedy == "no feed is affected; restart feedstore to use the new partitions")
    }
    #expect(changes.all.count == 2)
  }

  @Test func `more partitions for contents are read, and contents that are gone must be sent again`() {
    var topics = TopicNames()
    topics.contents = "feeds.contents"
    func metadata(_ contents: Int32?) -> TopicMetadata {
      TopicLayoutTests.metadata(2, 2, 2, 2, contents: contents)
    }
    var changes = TopicChanges(topics, metadata(2))
    let growth = changes.note(metadata(3))
    #expect(growth.map(\.topic) == ["feeds.contents"])
    #expect(growth[0].remedy.contains("reads the new partitions") == true)
    #expect(growth[0].remedy.hasSuffix("set topics.contents to it"))
    #expect(changes.all.isEmpty, "the daemon stays ready")
    #expect(changes.count(of: "feeds.contents") == 3)
    #expect(changes.note(metadata(nil)).isEmpty)
    #expect(changes.note(metadata(nil)).map(\.isLoss) == [true])
    #expect(
      changes.all.first?.remedy.contains("topics --create --partitions 2), and send all contents again")
        == true
    )
    #expect(changes.note(metadata(2)).count == 1)
    #expect(changes.all.first?.description.contains("was created again: its contents are gone") == true)
  }

  @Test func `a topic is gone when two answers in a row lack it`() {
    var changes = Self.changes()
    #expect(Self.note(TopicLayoutTests.metadata(2, nil, 2, 2), &changes).isEmpty)
    // A broker that did not know the topic yet.
    #expect(Self.note(TopicLayoutTests.metadata(2, 2, 2, 2), &changes).isEmpty)
    #expect(Self.note(TopicLayoutTests.metadata(2, nil, 2, 2), &changes).isEmpty)
    #expect(Self.note(TopicLayoutTests.metadata(2, nil, 2, 2), &changes) == ["feeds.items: 2 0"])
    #expect(changes.all.first?.remedy.contains("topics --create --partitions 2") == true)
    #expect(changes.all.first?.description.contains("had 2 partitions and is gone: ") == true)
  }

  @Test func `a topic that is created again stays a change, whatever its partitions`() {
    for count: Int32 in [1, 2, 3] {
      var changes = Self.changes()
      for _ in 0..<2 { _ = changes.note(TopicLayoutTests.metadata(2, 2, nil, 2)) }
      #expect(
        Self.note(TopicLayoutTests.metadata(2, 2, count, 2), &changes) == ["feeds.changesets: 2 \(count)"]
      )
    }
    var changes = Self.changes()
    for _ in 0..<2 { _ = changes.note(TopicLayoutTests.metadata(2, nil, nil, nil)) }
    _ = changes.note(TopicLayoutTests.metadata(2, 2, 2, 2))
    #expect(changes.all.map(\.topic) == ["feeds.items", "feeds.changesets", "feeds.rejected"])
    #expect(changes.all[0].remedy.contains("says what is lost"))
    #expect(changes.all[1].remedy.contains("set a new kafka.group.id"))
    #expect(changes.all[2].description.contains("was created again: restart feedstore"))
  }

  @Test func `offsets that were committed with fewer partitions tell a start of it`() {
    var changes = TopicChanges(TopicNames(), TopicLayoutTests.metadata(4, 4, 4, 4))
    #expect(changes.note(earlierInputs: 4).isEmpty)
    let news = changes.note(earlierInputs: 2)
    #expect(news.map(\.topic) == ["feeds.sections", "feeds.items"])
    #expect(news.map(\.before) == [2, 2] && news.map(\.after) == [4, 4])
    #expect(
      news.first?.remedy.hasPrefix("feeds whose keys hash to another partition since then start over") == true
    )
    #expect(changes.note(earlierInputs: 2).isEmpty)
    // The brokers' answer is the same as at the start.
    #expect(changes.note(TopicLayoutTests.metadata(4, 4, 4, 4)).isEmpty)
    #expect(changes.all.count == 2)
  }
}
