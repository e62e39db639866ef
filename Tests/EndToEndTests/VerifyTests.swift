import Feed
import FeedConfiguration
import FeedStore
import FeedVerification
import Kafka
import ObservationSupport
import Synchronization
import Testing

@testable import FeedDaemon
@testable import FeedKafka
@testable import FeedTools

/// `feedstore verify --topic` on the output of a daemon.
struct VerifyTests {
  private static func verify(_ ground: Ground) async throws -> (told: [String], report: VerificationReport) {
    let told = Mutex<[String]>([])
    let report = try await Verification.run(ground.configuration, input: .topic, log: Ground.quiet) { line in
      told.withLock { $0.append(line) }
    }
    return (told.withLock { $0 }, report)
  }

  /// Feeds with keyframes and a deletion, in two partitions.
  private static func written() async throws -> Ground {
    var ground = try Ground(partitions: 2)
    ground.configuration.store.coalescing.maxRecords = 2
    ground.configuration.store.keyframe.maxDeltas = 2
    var records: [TopicRecord] = []
    for number in 0..<40 {
      let feed = "f\(number % 4)"
      let value = number == 32 ? nil : #"{"op":"item.upsert","item":"\#(number)","section":"s"}"#
      records.append(
        TopicRecord(partition: Int32(number % 4 / 2), timestamp: 1_795_168_800_000, feed, value)
      )
    }
    try ground.produce(records, to: "feeds.items")
    _ = try await ground.runDaemon(applying: records.count)
    return ground
  }

  @Test func `a daemon's output is valid`() async throws {
    let ground = try await Self.written()
    defer { ground.cluster.stop() }
    let (told, report) = try await Self.verify(ground)
    #expect(told == [])
    #expect(report.isRight && report.counts.feeds == 4)
    #expect(report.counts.keyframes > 0 && report.counts.nulls > 0)
    let stored = try ground.contents(of: "feeds.changesets", partitions: 2)
    #expect(report.counts.records == stored.count)
  }

  @Test func `a replay's output is valid after publishing`() async throws {
    let ground = try Ground(partitions: 2)
    defer { ground.cluster.stop() }
    let published = try await ground.publishReplay(of: Array(DemoHistory.lines.prefix(300)))
    let (told, report) = try await Self.verify(ground)
    #expect(told == [])
    #expect(report.isRight && report.counts.records == published.records)
  }

  @Test func `a fault is reported with partition and offset`() async throws {
    let ground = try await Self.written()
    defer { ground.cluster.stop() }
    let stored = try ground.contents(of: "feeds.changesets", partitions: 2).filter { $0.partition == 1 }
    // Another producer writes a duplicate record and an invalid one.
    var again = try #require(stored.last)
    again.timestamp += 1
    again.headers = [:]
    try ground.produce([again, TopicRecord(partition: 1, "f", "{}")], to: "feeds.changesets")
    let offset = try #require(ground.contents(of: "feeds.changesets", partitions: 2).last).offset
    let (told, report) = try await Self.verify(ground)
    let feed = try #require(again.keyText?.drop { $0 != "/" }.dropFirst())
    #expect(told.count == 2 && report.faults == 2)
    let place = "feeds.changesets [1], offset"
    #expect(
      told.first == #"\#(place) \#(offset - 1): feed "\#(feed)": the header "content-type" is missing"#
    )
    #expect(
      told.last?.hasPrefix(
        #"\#(place) \#(offset): the key is "f", which is neither k<part>/<feed> nor"#
      )
        == true
    )
    #expect(report.counts.feeds == 3)
  }

  @Test func `an empty topic is valid, and a missing one is named`() async throws {
    var ground = try Ground()
    defer { ground.cluster.stop() }
    #expect(try await Self.verify(ground).report.isRight)
    ground.configuration.store.topics.changesets = "elsewhere"
    ground.configuration.startupTimeoutMilliseconds = 0
    let configured = ground
    let error = await #expect(throws: DaemonError.self) { try await Self.verify(configured) }
    #expect(error?.code == .missingTopic && error?.message.contains("elsewhere") == true)
  }

  @Test func `the wait for silent brokers is limited`() async throws {
    var ground = try Ground()
    ground.loseBrokers()
    let unreachable = ground
    await #expect(throws: DaemonError.self) { try await Self.verify(unreachable) }
  }
}
