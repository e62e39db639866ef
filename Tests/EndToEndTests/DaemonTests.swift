import Feed
import FeedConfiguration
import FeedDaemon
import FeedStore
import Kafka
import ObservationSupport
import OperatingSystem
import Settings
import Synchronization
import Testing

@testable import FeedKafka
@testable import FeedStatus

struct DaemonTests {
  @Test
  func `rejected records arrive byte for byte, nulls are nulls, and stopping publishes pending changes`()
    async throws
  {
    let ground = try Ground(partitions: 3, rejected: 2)
    defer { ground.cluster.stop() }
    let time: Int64 = 1_795_168_800_000
    let noKey = TopicRecord(partition: 2, timestamp: time, nil, "{\"op\":\"feed.clear\"}")
    let notUTF8 = TopicRecord(
      partition: 2,
      timestamp: time,
      key: Array("a".utf8),
      value: [0x7B, 0xFF, 0x00]
    )
    let emptyKey = TopicRecord(partition: 1, timestamp: time, "", nil)
    let empty = TopicRecord(partition: 0, timestamp: time, "b", "")
    let section = "{\"op\":\"section.upsert\",\"section\":\"s\"}"
    let records = [
      noKey, TopicRecord(partition: 2, timestamp: time + 5, "a", section), notUTF8, emptyKey, empty,
      TopicRecord(partition: 1, timestamp: time, "gone", section),
      TopicRecord(partition: 1, timestamp: time, "gone", nil),
    ]
    try ground.produce(records, to: "feeds.items")
    let started = WallClock.milliseconds()
    let report = try await ground.runDaemon(applying: records.count)
    #expect(report.counters.records == records.count)
    #expect(report.counters.rejects == [.missingKey: 2, .invalidUTF8: 1, .invalidJSON: 1])
    #expect(report.feeds.map(\.feed) == ["a"])

    let rejected = try ground.contents(of: "feeds.rejected", partitions: 2)
    #expect(rejected.count == 4)
    for (source, offset, target, code) in [
      (noKey, 0, 0, "missing-key"), (notUTF8, 2, 0, "invalid-utf8"), (emptyKey, 0, 1, "missing-key"),
      (empty, 0, 0, "invalid-json"),
    ] as [(TopicRecord, Int, Int32, String)] {
      let found = try #require(
        rejected.first {
          $0.headers["feedstore.source.partition"] == String(source.partition)
            && $0.headers["feedstore.source.offset"] == String(offset)
        }
      )
      #expect(found.key == source.key)
      #expect(found.value == source.value)
      #expect(found.partition == target)
      #expect(found.headers["feedstore.error.code"] == code)
      #expect(found.headers["feedstore.error.message"]?.isEmpty == false)
      #expect(found.headers["feedstore.source.topic"] == "feeds.items")
      #expect(found.headers["feedstore.source.timestamp"] == String(time))
      #expect((started...WallClock.milliseconds()).contains(found.timestamp), "the time of the rejection")
    }

    let changesets = try ground.contents(of: "feeds.changesets", partitions: 3)
    #expect(changesets.map(\.keyText) == ["k0/a"])
    #expect(changesets.first?.partition == 2)
    #expect(changesets.first?.timestamp == time + 5)
  }

  @Test func `a changeset's timestamp is its time, whatever the timestamps of records are`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    let times: [(Int64, Int64, String)] = [
      (-62_167_219_200_001, -62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
      (-1, -1, "1969-12-31T23:59:59.999Z"),
      (253_402_300_800_000, 253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ]
    for (number, time) in times.enumerated() {
      let section = "{\"op\":\"section.upsert\",\"section\":\"s\"}"
      try ground.produce(
        [TopicRecord(partition: 0, timestamp: time.0, "f\(number)", section)],
        to: "feeds.items"
      )
    }
    _ = try await ground.runDaemon(applying: times.count)
    let changesets = try ground.contents(of: "feeds.changesets", partitions: 1)
    #expect(changesets.map(\.timestamp) == times.map(\.1))
    #expect(changesets.map { $0.headers["ce_time"] } == times.map(\.2))
  }

  @Test func `different partition counts are refused before anything is read`() async throws {
    let ground = try Ground(partitions: 2, sections: 3)
    defer { ground.cluster.stop() }
    let error = await #expect(throws: DaemonError.self) {
      try await ground.daemon(stop: StopRequest()) { _ in }.run()
    }
    #expect(error?.code == .partitionCounts)
    #expect(error?.message.contains("feeds.sections has 3 partitions and feeds.items has 2") == true)
  }

  @Test func `a property that Kafka does not know is a configuration error`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    ground.configuration.kafka.append(ConfigurationPair(name: "no.such.property", value: "1"))
    let configured = ground
    let error = await #expect(throws: ConfigurationError.self) {
      try await configured.daemon(stop: StopRequest()) { _ in }.run()
    }
    #expect(error?.message.contains("no.such.property") == true)
  }

  @Test func `a stop request ends the wait for unreachable brokers`() async throws {
    var ground = try Ground()
    ground.loseBrokers()
    let stop = StopRequest()
    stop.request()
    let report = try await ground.daemon(stop: stop) { _ in }.run()
    #expect(report.counters == StoreCounters())
  }

  @Test func `revoked partitions are published first, and their state is dropped`() async throws {
    let ground = try Ground(partitions: 2)
    defer { ground.cluster.stop() }
    try ground.produce(
      (0..<2).map {
        TopicRecord(partition: $0, "feed-\($0)", "{\"op\":\"section.upsert\",\"section\":\"s\"}")
      },
      to: "feeds.items"
    )

    let stop = StopRequest()
    let (events, continuation) = AsyncStream<DaemonEvent>.makeStream()
    async let first = ground.daemon(stop: stop) { continuation.yield($0) }.run()
    var iterator = events.makeAsyncIterator()
    var received = 0
    while received < 2, let event = await iterator.next() {
      if case .received(let count) = event { received += count }
    }
    // Nothing has been published, because the window is an hour. Now another daemon joins the group.
    let stopSecond = StopRequest()
    async let second = ground.daemon(stop: stopSecond) { event in
      if case .assigned(let count) = event, count > 0 { stopSecond.request() }
    }.run()
    var told: [DaemonEvent] = []
    while let event = await iterator.next() {
      told.append(event)
      if event == .released { break }
    }
    #expect(told.count == 2)
    guard case .committed(let counters) = told.first else {
      Issue.record("a commit comes before the release: \(told)")
      return
    }
    #expect(counters.records == 2)
    _ = try await second
    stop.request()
    let report = try await first
    #expect(report.counters.records >= 2, "what was done before counts")
    let keys = try ground.contents(of: "feeds.changesets", partitions: 2).compactMap(\.keyText)
    #expect(Set(keys) == ["k0/feed-0", "k0/feed-1"])
  }
}
