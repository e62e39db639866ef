import FeedDaemon
import FeedStore
import Kafka
import ObservationSupport
import OperatingSystem
import Settings
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedKafka
@testable import FeedStatus

/// The embedded cluster keeps 5 MiB of a partition: records that are not read before more are written are lost.
struct LostWhileReadTests {
  private static let recordCount = 120
  private static let records = (0..<recordCount).map { number in
    let text = String(repeating: "x", count: 100_000)
    return TopicRecord(
      "a",
      #"{"op":"section.upsert","section":"s","data":{"n":\#(number),"text":"\#(text)"}}"#
    )
  }

  /// A daemon that prefetches almost nothing, with one record to start with.
  private static func ground(_ policy: LostInputPolicy) throws -> Ground {
    var ground = try Ground()
    ground.configuration.lostInput = policy
    ground.configuration.kafka.append(ConfigurationPair(name: "queued.max.messages.kbytes", value: "1"))
    try ground.produce([records[0]], to: "feeds.items")
    return ground
  }

  /// Runs the daemon, and writes all records while it is busy with the first.
  ///
  /// - Parameter isEnough: receives the current first offset of the input, and the number of records received since.
  private static func run(
    _ ground: Ground,
    until isEnough: @escaping @Sendable (_ low: Int, _ received: Int) -> Bool
  ) async throws -> (report: DaemonReport, low: Int) {
    let stop = StopRequest()
    let state = Mutex((low: 0, received: 0))
    let report = try await ground.daemon(stop: stop) { event in
      guard case .received(let count) = event else { return }
      let (low, received) = state.withLock { state in
        if state.low == 0 {
          state.low = Int(flood(ground))
        } else {
          state.received += count
        }
        return state
      }
      if isEnough(low, received) { stop.request() }
    }.run()
    return (report, state.withLock { $0.low })
  }

  /// - Returns: the first offset of the input after that.
  private static func flood(_ ground: Ground) -> Int64 {
    do {
      try ground.produce(records, to: "feeds.items")
      let consumer = try Consumer(configuration: ground.client, log: { _, _, _ in })
      let partition = TopicPartition(topic: "feeds.items", partition: 0)
      let ends = try consumer.queryWatermarks(partition, timeoutMilliseconds: 120_000)
      try consumer.close(timeoutMilliseconds: 120_000)
      #expect(ends.high == Int64(recordCount) + 1)
      #expect(ends.low > 50, "the cluster has thrown away what nobody has fetched")
      return ends.low
    } catch {
      Issue.record(error)
      return 1
    }
  }

  @Test func `input that is lost while it is read stops the daemon`() async throws {
    let ground = try Self.ground(.fail)
    defer { ground.cluster.stop() }
    let error = await #expect(throws: DaemonError.self) {
      try await Self.run(ground) { low, received in low + received > Self.recordCount }
    }
    #expect(error?.code == .lostInput)
    #expect(error?.message.contains("input is lost: of feeds.items [0], offsets 0 to ") == true)
    #expect(error?.message.contains("kafka.onLostInput") == true)
  }

  @Test func `input that is lost while it is read is skipped if so configured`() async throws {
    let ground = try Self.ground(.continue)
    defer { ground.cluster.stop() }
    let (report, low) = try await Self.run(ground) { low, received in low + received > Self.recordCount }
    #expect(report.counters.records > Self.recordCount - low)
    #expect(report.counters.records < Self.recordCount)
    #expect(report.counters.rejectedRecords == 0)
    #expect(report.feeds.map(\.feed) == ["a"])
  }
}
