import FeedStore
import Foundation
import Kafka
import ObservationSupport
import OperatingSystem
import Oracle
import Testing

extension OnCluster {
  /// The process's memory depends on its limits, not on the backlog.
  @Suite(.serialized) struct MemoryTests {
    private static let partitions: Int32 = 4
    private static let feeds = 100
    private static let items = 20
    private static let records = 60_000
    private static let dataBytes = 2_500
    /// The process itself, its feeds and the bounds below need less, with what the allocator keeps; the backlog alone has
    /// 143 MiB.
    private static let mostBytes = 120 << 20
    private static let bounds = [
      "kafka.queued.max.messages.kbytes": "8192", "kafka.fetch.message.max.bytes": "262144",
      "kafka.queue.buffering.max.kbytes": "4096", "coalesce.maxBytes": "1048576",
    ]

    @Test func `a backlog is worked off without being held in memory`() async throws {
      let topics = TestTopics("memory", partitions: Self.partitions)
      try await topics.create()
      let thread = WorkerThread(name: "memory")
      defer { thread.stop() }
      try await withTaskExecutorPreference(thread) { @concurrent in
        defer { #expect(throws: Never.self) { try topics.delete() } }
        try Self.produce(to: topics)
        let log = FileManager.default.temporaryDirectory.appendingPathComponent("\(topics.prefix).log")
        let member = try Member("member", topics.settings.merging(Self.bounds) { $1 }, logPath: log.path)
        defer { member.kill() }
        let ends = (0..<Self.partitions).map {
          (
            TopicPartition(topic: topics.names.items, partition: $0),
            Int64(Self.records) / Int64(Self.partitions)
          )
        }
        try topics.waitForCommits(Dictionary(uniqueKeysWithValues: ends)) {
          try BrokerFailure.check(!member.hasFailed, "\(member.name) has ended")
        }
        let bytes = try Self.mostResidentBytes(of: member)
        print(
          "memory: at most \(bytes >> 20) MiB for \((Self.records * Self.dataBytes) >> 20) MiB of records"
        )
        try BrokerFailure.check(
          bytes < Self.mostBytes,
          "the process has had \(bytes >> 20) MiB; its log: \(log.path)"
        )
        try FileManager.default.removeItem(at: log)
      }
    }

    /// Replaces the data of the same items repeatedly.
    private static func produce(to topics: TestTopics) throws {
      let padding = String(repeating: "x", count: dataBytes)
      try topics.produce(records) { number in
        let feed = number % feeds
        let value = """
          {"op":"item.upsert","item":"i\(number / (20 * feeds) % items)","section":"s","kind":"k",\
          "data":{"n":\(number),"padding":"\(padding)"}}
          """
        return (Int32(feed) % topics.partitions, "feed-\(feed)", value)
      }
    }

    /// The peak memory of a process, as counted by Linux.
    private static func mostResidentBytes(of member: Member) throws -> Int {
      let status = try String(contentsOfFile: "/proc/\(member.pid)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
      let kilobytes = try #require(line.split(separator: " ").compactMap { Int($0) }.first)
      return kilobytes << 10
    }
  }
}
