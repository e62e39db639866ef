import FeedStore
import Foundation
import HTTPTestSupport
import Kafka
import ObservationSupport
import Oracle
import Service
import Synchronization
import Testing

extension OnCluster {
  /// Events that clients write over HTTP, while the daemons that take them are killed.
  @Suite(.serialized) struct WriteTests {
    /// FEEDSTORE_WRITES has another number.
    private static let writes = Int(ProcessInfo.processInfo.environment["FEEDSTORE_WRITES"] ?? "") ?? 2_000
    private static let clients = 50

    @Test func `an answered event is there once, although daemons are killed`() async throws {
      var options = RunOptions()
      options.settings = [
        "http.enabled": "true", "http.port": "0", "http.writes.enabled": "true",
        // librdkafka sends other records twice when one has timed out.
        "kafka.message.timeout.ms": "55000",
      ]
      try await BrokerRun.on("writes", options) { run in
        let writing = Writing()
        try writing.members.withLock { $0 = [try run.start(), try run.start()] }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<Self.clients {
            group.addTask {
              let client = WritingClient(number, seed: run.seed, writing)
              try await run.onThread { try client.write(Self.writes / Self.clients) }
            }
          }
          // Each is killed while the other one takes what its clients send.
          for kill in 1...4 {
            let isDue = Self.writes * kill / 5
            try await run.wait("\(isDue) answers") { _ in writing.written.withLock { $0.count } >= isDue }
            try await run.kill(writing.members.withLock { $0[kill % 2] })
            let heir = try run.start()
            writing.members.withLock { $0[kill % 2] = heir }
          }
          try await group.waitForAll()
        }
        let (topic, all) = (run.topics.names.items, writing.written.withLock { $0 })
        let records = try await run.onThread { try TopicReader.contents(run.topics, [topic]).records }
        let found = Dictionary(grouping: records) { Written.value(of: $0) }
        try BrokerFailure.check(all.count == Self.clients * (Self.writes / Self.clients), "\(all.count)")
        for write in all {
          let places = found[write.value] ?? []
          try BrokerFailure.check(
            places.contains { Int($0.partition) == write.partition && $0.offset == write.offset },
            "\(write.value) is not at \(write.partition)/\(write.offset), but at \(places.map(\.offset))"
          )
          // What was answered at its first attempt was sent once.
          try BrokerFailure.check(
            places.count <= write.attempts,
            "\(write.value) is there \(places.count) times, after \(write.attempts) attempts"
          )
        }
      }
    }
  }
}

/// An event that was written, and where the answer says that it is.
private struct Written: Sendable {
  let value: String
  let partition: Int
  let offset: Int64
  let attempts: Int

  static func value(of record: TopicRecord) -> String { String(decoding: record.value ?? [], as: UTF8.self) }
}

/// The daemons that clients write to, and what they have written.
private final class Writing: Sendable {
  let members = Mutex<[Member]>([])
  let written = Mutex<[Written]>([])
}

/// Writes one event after the other, each until it is answered. Every event names what it writes, so that it can be sent
/// again.
private struct WritingClient: Sendable {
  private let number: Int
  private let seed: UInt64
  private let writing: Writing

  private struct Answer: Decodable {
    let partition: Int
    let offset: Int64?
    let revision: Int?
  }

  init(_ number: Int, seed: UInt64, _ writing: Writing) {
    self.number = number
    self.seed = seed &+ UInt64(number)
    self.writing = writing
  }

  func write(_ count: Int) throws {
    var random = SplitMix64(seed: seed)
    var connection: HTTPTestClient?
    for item in 0..<count {
      let value = #"{"op":"item.upsert","section":"s","item":"\#(number)-\#(item % 50)","data":\#(item)}"#
      // Small feeds: the oracle takes O(n) for an event.
      let feed = "feed \(number % 8) \(random.below(6))"
      var attempts = 0
      while true {
        attempts += 1
        do {
          if connection == nil || random.chance(2) { connection = try connect(&random) }
          let wait = random.chance(20) ? "Prefer: wait=2" : "Accept: */*"
          let path = "/v1/feeds/\(feed.replacing(" ", with: "%20"))/events"
          guard let response = try connection?.ask("POST \(path)", wait, body: value) else { continue }
          if response.status == 503 { continue }
          let answer = try JSONDecoder().decode(Answer.self, from: Data(response.body))
          try BrokerFailure.check(
            [200, 202].contains(response.status),
            "\(response.status): \(response.text)"
          )
          try BrokerFailure.check((answer.revision != nil) == (response.status == 200), response.text)
          guard let offset = answer.offset else { continue }
          writing.written.withLock {
            $0.append(
              Written(value: value, partition: answer.partition, offset: offset, attempts: attempts)
            )
          }
          break
        } catch is HTTPTestClient.Failure {
          // Its daemon was killed.
          connection = nil
        }
      }
    }
  }

  /// A connection to one of the daemons, once one has said where it listens.
  private func connect(_ random: inout SplitMix64) throws -> HTTPTestClient {
    while true {
      let member = random.pick(writing.members.withLock { $0 })
      try BrokerFailure.check(!member.hasFailed, "\(member.name) has ended by itself")
      guard let line = member.firstLine(about: [.httpServing]),
        let port = line.firstMatch(of: /url=http:\/\/127\.0\.0\.1:([0-9]+)/).flatMap({ Int($0.1) })
      else { continue }
      return try HTTPTestClient(port: port)
    }
  }
}
