import ChangesetTestSupport
import Feed
import FeedStore
import ObservationSupport
import Oracle
import Testing

@testable import FeedKafka
@testable import FeedTransactions
@testable import Kafka

/// Queueing the records of a publication, also if the producer's queue fills up.
struct PublicationWriterTests {
  /// Records that fill one feed, and some that are rejected.
  private func records(items: Int, rejected: Int) -> [OracleRecord] {
    (0..<items + rejected).map { offset in
      let value =
        offset < items
        ? #"{"op":"item.upsert","section":"s","item":"i\#(offset)","data":"\#(String(repeating: "x", count: 200))"}"#
        : "not JSON \(offset)"
      return OracleRecord(
        partition: 3,
        offset: offset,
        timestamp: 1_000 + offset,
        key: Array("feed".utf8),
        value: Array(value.utf8)
      )
    }
  }

  /// What came of writing a publication.
  private struct Written {
    var ground: Ground
    var writer: PublicationWriter
    /// How often the queue was full.
    var timesFull = 0
    /// The records that were to be written.
    var records: [TopicRecord] = []
  }

  /// Writes a publication through a producer with a small queue.
  private func write(
    _ records: [OracleRecord],
    queued: Int,
    maxRejectedBytes: Int = 1_000_000,
    check: @Sendable (inout Written) throws -> Void
  ) async throws {
    var options = FeedStoreOptions()
    options.output.maxMessageBytes = 600
    options.output.source = "/test"
    let store = FeedStore(options: options)
    _ = try await store.apply(RecordBatch(records), time: .clock(0))
    try await write(store, options, queued: queued, maxRejectedBytes: maxRejectedBytes, check: check)
  }

  private func write(
    _ store: isolated FeedStore,
    _ options: FeedStoreOptions,
    queued: Int,
    maxRejectedBytes: Int,
    check: @Sendable (inout Written) throws -> Void
  ) throws {
    let ground = try Ground(partitions: 4, rejected: 3)
    defer { ground.cluster.stop() }
    var client = ground.client
    client["transactional.id"] = "one"
    client["queue.buffering.max.messages"] = String(queued)
    client["linger.ms"] = "0"
    let producer = try TransactionalProducer(configuration: client, log: { _, _, _ in })
    try producer.initTransactions(timeoutMilliseconds: 30_000)
    try producer.begin()
    let limit = RejectedRecordLimit(maxMessageBytes: maxRejectedBytes)
    var written = Written(
      ground: ground,
      writer: PublicationWriter(options, try layout(options.topics), limit)
    )
    written.writer.ends.note(100, of: 3)
    try store.publish { part in
      let isLast = part.isLast
      #expect(isLast)
      written.writer.begin()
      while !written.writer.isIdle {
        do throws(KafkaError) {
          try written.writer.write(part, to: producer)
        } catch {
          guard error.kind == .queueFull else { throw error }
          written.timesFull += 1
          try producer.poll(timeoutMilliseconds: 1)
        }
      }
      try producer.commit()
      written.records = PublishedPart(part, source: "").records.map { TopicRecord($0) }
    }
    #expect(producer.takeDeliveryErrors().isEmpty)
    try producer.close(timeoutMilliseconds: 10_000)
    try check(&written)
  }

  private func layout(_ topics: TopicNames) throws -> TopicLayout {
    try TopicLayout(
      topics,
      TopicMetadata(partitionCounts: [
        topics.items: 4, topics.sections: 4, topics.changesets: 4, topics.rejected: 3,
      ])
    )
  }

  @Test func `a full queue interrupts writing, and records are neither lost, repeated nor reordered`()
    async throws
  {
    try await write(records(items: 60, rejected: 30), queued: 7) { written in
      #expect(written.timesFull > 0)
      let stored = try written.ground.contents(of: "feeds.changesets", partitions: 4)
      #expect(stored.count > 10)
      #expect(stored.map(\.partition) == written.records.map(\.partition))
      #expect(stored.map(\.key) == written.records.map(\.key))
      #expect(stored.map(\.value) == written.records.map(\.value))
      #expect(stored.map(\.timestamp) == written.records.map(\.timestamp))
      for (number, record) in stored.enumerated() {
        #expect(record.headers["ce_source"] == "/test")
        #expect(record.headers["ce_id"] == "feed@feeds.items:1000/0@1/\(number)")
      }

      let rejected = try written.ground.contents(of: "feeds.rejected", partitions: 3)
      #expect(rejected.map(\.partition) == Array(repeating: 0, count: 30))
      #expect(rejected.map(\.valueText) == (60..<90).map { "not JSON \($0)" })
      #expect(rejected.map(\.timestamp) == (60..<90).map { 1_000 + $0 })
      #expect(rejected.map { $0.headers["feedstore.source.offset"] } == (60..<90).map { "\($0)" })
      #expect(rejected.allSatisfy { $0.headers["feedstore.error.code"] == "invalid-json" })
      #expect(rejected.allSatisfy { $0.headers["feedstore.source.partition"] == "3" })
    }
  }

  @Test func `after the commit, the end of the changesets topic is known`() async throws {
    try await write(records(items: 10, rejected: 2), queued: 1_000) { written in
      let count = Int64(written.records.count)
      #expect(written.writer.ends.endIfCommitted(of: 3) == 100 + count)
      written.writer.ends.commit()
      #expect(written.writer.ends.endIfCommitted(of: 3) == 100 + count + 1)
    }
  }

  @Test func `the rest of a discarded part is not written with the next part`() async throws {
    var options = FeedStoreOptions()
    options.output.maxMessageBytes = 600
    let store = FeedStore(options: options)
    _ = try await store.apply(RecordBatch(records(items: 60, rejected: 3)), time: .clock(0))
    try await writeAfterDiscarding(store, options)
  }

  private func writeAfterDiscarding(_ store: isolated FeedStore, _ options: FeedStoreOptions) throws {
    let limit = RejectedRecordLimit(maxMessageBytes: 1_000_000)
    var writer = PublicationWriter(options, try layout(options.topics), limit)
    let (producer, other) = (CountingProducer(capacity: 2), CountingProducer(capacity: .max))
    try store.publish { part in
      writer.begin()
      #expect(throws: KafkaError.self) { try writer.write(part, to: producer) }
      #expect(!writer.isIdle)

      writer.discard()
      #expect(writer.isIdle)
      try writer.write(part, to: producer)
      #expect(producer.count == 2)

      writer.begin()
      try writer.write(part, to: other)
      let count = part.records.count + part.rejected.count
      #expect(other.count == count)
    }
  }

  @Test func `a rejected record that is too long is truncated, with its original sizes in headers`()
    async throws
  {
    let record = OracleRecord(
      partition: 1,
      offset: 0,
      timestamp: 5,
      key: Array("feed".utf8),
      value: [UInt8](repeating: UInt8(ascii: "["), count: 5_000)
    )
    try await write([record], queued: 1_000, maxRejectedBytes: 3_000) { written in
      let rejected = try written.ground.contents(of: "feeds.rejected", partitions: 3)
      #expect(rejected.map(\.partition) == [1])
      let value = try #require(rejected.first?.value)
      #expect(value.count < 3_000 && value.count > 1_000)
      #expect(rejected.first?.headers["feedstore.value.truncated"] == "5000")
      #expect(rejected.first?.headers["feedstore.key.truncated"] == nil)
    }
  }
}

/// A producer whose queue takes some records and never empties.
private final class CountingProducer: RecordProducer {
  private(set) var count = 0
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  func produce(
    topic: String,
    partition: Int32,
    key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?,
    headers: HeaderList,
    timestampMilliseconds: Int64
  ) throws(KafkaError) {
    guard count < capacity else {
      throw KafkaError(
        kind: .queueFull,
        message: "the queue is full",
        isRetriable: true,
        isFatal: false,
        requiresAbort: false
      )
    }
    count += 1
  }
}
