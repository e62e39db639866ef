package import Feed
import FeedStore
package import Kafka
import Synchronization

/// Records whose writers wait until a worker of this process has published or rejected them.
///
/// A worker may be faster than the report that a record was delivered. So a record is awaited before it is produced, when its
/// offset is not known yet.
package final class AwaitedWrites: Sendable {
  /// What has become of a record.
  package enum Outcome: Sendable, Equatable {
    /// What is published covers it. The version of its feed then; nil if the feed does not exist.
    case published(PublishedVersion?)
    case rejected(Rejection)
    /// It is not known here: another process has its partition now, or its feed is being restored.
    case unknown
  }

  private struct Entry {
    let feed: ByteText
    let place: TopicPartition
    let body: @Sendable (Outcome, _ offset: Int64) -> Void
    /// nil until it is delivered.
    var offset: Int64?
    /// The offset before which everything is published, since it is awaited; and what the feed was then.
    var covered: Int64 = -1
    var version: PublishedVersion?
    /// Rejected records of the feed since then, by offset.
    var rejections: [Int64: Rejection] = [:]
    var isReleased = false

    /// nil while it is not known.
    var outcome: Outcome? {
      guard let offset else { return nil }
      if offset < covered { return rejections[offset].map { .rejected($0) } ?? .published(version) }
      return isReleased ? .unknown : nil
    }
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// Begins to await a record that is going to be produced.
  ///
  /// - Parameter body: called once on any thread, when the outcome is known; not after ``forget(_:)``.
  /// - Returns: its number here.
  package func expect(
    _ feed: ByteText,
    in place: TopicPartition,
    _ body: @escaping @Sendable (Outcome, _ offset: Int64) -> Void
  ) -> Int {
    state.withLock { state in
      defer { state.next += 1 }
      state.entries[state.next] = Entry(feed: feed, place: place, body: body)
      return state.next
    }
  }

  package func deliver(_ number: Int, at offset: Int64) {
    change { $0[number]?.offset = offset }
  }

  /// Awaits the record no longer.
  ///
  /// - Returns: whether it was awaited.
  @discardableResult
  package func forget(_ number: Int) -> Bool {
    state.withLock { $0.entries.removeValue(forKey: number) != nil }
  }

  /// Whether a worker has to report what it publishes.
  var isEmpty: Bool { state.withLock(\.entries.isEmpty) }

  /// A worker has published what it covers of its input.
  ///
  /// - Parameters:
  ///   - covered: of each input, the offset before which everything is published.
  ///   - rejected: what was rejected of that.
  ///   - version: what is published of a feed of a partition.
  func publish(
    _ covered: [TopicPartitionOffset],
    rejected: [RejectedRecord],
    _ version: (ByteText, Int32) -> PublishedVersion?
  ) {
    change { entries in
      for position in covered {
        for (number, entry) in entries where entry.place == position.topicPartition {
          entries[number]?.covered = position.offset
          entries[number]?.version = version(entry.feed, position.partition)
        }
      }
      let feeds = Set(entries.values.map { Array($0.feed.string.utf8) })
      for record in rejected where record.key.map(feeds.contains) == true {
        let place = TopicPartition(
          topic: String(decoding: record.topic, as: UTF8.self),
          partition: record.partition
        )
        for (number, entry) in entries
        where entry.place == place && record.key.map({ $0.elementsEqual(entry.feed.string.utf8) }) == true {
          entries[number]?.rejections[record.offset] = record.rejection
        }
      }
    }
  }

  /// Partitions were given up, or what is published of them is not known any more.
  ///
  /// - Parameter partitions: nil for all.
  package func release(_ partitions: Set<Int32>?) {
    change { entries in
      for (number, entry) in entries where partitions?.contains(entry.place.partition) != false {
        entries[number]?.isReleased = true
      }
    }
  }

  /// Changes the entries, and reports the outcomes that are known now.
  private func change(_ body: (inout [Int: Entry]) -> Void) {
    let done = state.withLock { state in
      body(&state.entries)
      let done = state.entries.compactMap { number, entry in entry.outcome.map { (number, entry, $0) } }
      for (number, _, _) in done { state.entries[number] = nil }
      return done
    }
    for (_, entry, outcome) in done { entry.body(outcome, entry.offset ?? -1) }
  }
}
