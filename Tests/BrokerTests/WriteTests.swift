import Diagnostics
import FeedStore
import Foundation
import HTTP
import HTTPTestSupport
import Kafka
import ObservationSupport
import Oracle
import Synchronization
import Testing

extension OnCluster {
  /// Events that clients write over HTTP, while the receiving daemons are killed.
  @Suite(.serialized) struct WriteTests {
    /// FEEDSTORE_WRITES sets another number.
    private static let writes = Int(ProcessInfo.processInfo.environment["FEEDSTORE_WRITES"] ?? "") ?? 2_000
    private static let clients = 50

    @Test func `an answered event is there once, although daemons are killed`() async throws {
      var options = RunOptions()
      options.settings = [
        "http.enabled": "true", "http.port": "0", "http.writes.enabled": "true",
        // librdkafka repeats other records after a timeout.
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
          // Each is killed while the other accepts its clients' events.
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
          // An event that was answered at its first attempt was sent once.
          try BrokerFailure.check(
            places.count <= write.attempts,
            "\(write.value) is there \(places.count) times, after \(write.attempts) attempts"
          )
        }
      }
    }
  }
}

extension OnCluster {
  /// The answers of two daemons about the same records.
  @Suite(.serialized) struct WriteOutcomeTests {
    private static let feeds = (0..<8).map { "feed-\($0)" }
    private static let events = [
      #"{"op":"item.upsert","section":"s","item":"a","data":1}"#, #"{"op":"item.delete","item":"unknown"}"#,
      #"{"op":"item.upsert","item":"b"}"#,
    ]

    private struct Answer: Decodable, Equatable {
      let feed: String?
      let partition: Int?
      let offset: Int64?
      let revision: Int?
      let changed: Bool?
      let code: String?
    }

    /// A free port. Daemons must announce theirs before they listen.
    private static func freePort() throws -> Int {
      var configuration = HTTPServerConfiguration()
      configuration.port = 0
      let server = try HTTPServer(configuration, router: HTTPRouter())
      defer { server.stop(withinMilliseconds: 0) }
      return try #require(Int(server.url.split(separator: ":").last ?? ""))
    }

    private static func ask(
      _ port: Int,
      _ line: String,
      wait: Int,
      body: String? = nil
    ) throws -> (status: Int, answer: Answer) {
      let response = try HTTPTestClient(port: port).ask(line, "Prefer: wait=\(wait)", body: body)
      return (response.status, try JSONDecoder().decode(Answer.self, from: Data(response.body)))
    }

    private static func check(_ isRight: Bool, _ text: @autoclosure () -> String) throws {
      try BrokerFailure.check(isRight, text())
    }

    @Test func `a record has the same outcome at every instance, and the next owner answers for a lost one`()
      async throws
    {
      var options = RunOptions()
      options.settings = ["http.enabled": "true", "http.writes.enabled": "true"]
      try await BrokerRun.on("outcomes", options) { run in
        let ports = [try Self.freePort(), try Self.freePort()]
        let members = try ports.map { port in
          try run.start(["http.port": "\(port)", "http.advertisedUrl": "http://127.0.0.1:\(port)"])
        }
        try await run.wait("both serve a share") { _ in members.allSatisfy { $0.restorations.count >= 1 } }
        try await run.wait("all is restored") { _ in
          ports.allSatisfy { (try? Self.ask($0, "GET /readyz", wait: 0))?.status == 200 }
        }
        try await run.onThread { try Self.compare(ports) }
        run.load.pause()
        // Records that no daemon has published yet.
        try await run.kill(members[1])
        let left = try await run.onThread {
          try Self.feeds.map { feed in
            try Self.ask(ports[0], "POST /v1/feeds/\(feed)/events", wait: 0, body: Self.events[0]).answer
          }
        }
        try await run.onThread {
          for answer in left {
            let (feed, partition, offset) = (answer.feed ?? "", answer.partition ?? -1, answer.offset ?? -1)
            let path = "/v1/feeds/\(feed)/events?partition=\(partition)&offset=\(offset)"
            var outcome = try Self.ask(ports[0], "GET \(path)", wait: 30)
            // Until the lost member's session has ended.
            for _ in 0..<10 where outcome.status == 202 {
              outcome = try Self.ask(ports[0], "GET \(path)", wait: 30)
            }
            try Self.check(outcome.status == 200 && outcome.answer.changed == true, "\(outcome)")
            // The lost member has published it.
            let first = "/v1/feeds/\(feed)/events?partition=\(partition)&offset=0"
            let early = try Self.ask(ports[0], "GET \(first)", wait: 2)
            try Self.check([200, 202, 422].contains(early.status), "\(early)")
          }
        }
      }
    }

    /// Writes to each feed at each instance, and asks both for the outcome.
    private static func compare(_ ports: [Int]) throws {
      for (number, feed) in feeds.enumerated() {
        for (event, expected) in zip(events, [(200, true), (200, false), (422, nil)] as [(Int, Bool?)]) {
          let path = "/v1/feeds/\(feed)/events"
          let written = try ask(ports[number % 2], "POST \(path)", wait: 30, body: event)
          try check((written.status, written.answer.changed) == expected, "\(feed), \(event): \(written)")
          // The answer to a rejection does not contain the record's position; the next one does.
          let next = try ask(ports[0], "POST \(path)", wait: 0, body: event).answer
          for port in ports {
            let query = "partition=\(next.partition ?? -1)&offset=\(next.offset ?? -1)"
            let outcome = try ask(port, "GET \(path)?\(query)", wait: 30)
            try check((outcome.status, outcome.answer.changed) == expected, "\(feed), \(event): \(outcome)")
            try check(outcome.answer.code == written.answer.code, "\(outcome)")
          }
        }
      }
    }
  }
}

/// A written event, and the position in the answer.
private struct Written: Sendable {
  let value: String
  let partition: Int
  let offset: Int64
  let attempts: Int

  static func value(of record: TopicRecord) -> String { String(decoding: record.value ?? [], as: UTF8.self) }
}

/// The daemons to which clients write, and the written events.
private final class Writing: Sendable {
  let members = Mutex<[Member]>([])
  let written = Mutex<[Written]>([])
}

/// Writes one event after another, each until it is answered. Every event has a name, so that it can be repeated.
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

  /// A connection to one of the daemons, once one has reported its address.
  private func connect(_ random: inout SplitMix64) throws -> HTTPTestClient {
    while true {
      let member = random.pick(writing.members.withLock { $0 })
      try BrokerFailure.check(!member.hasFailed, "\(member.name) has ended by itself")
      guard let line = member.firstLine(about: [LogEvent(.info, "http.serving")]),
        let port = line.firstMatch(of: /url=http:\/\/127\.0\.0\.1:([0-9]+)/).flatMap({ Int($0.1) })
      else { continue }
      return try HTTPTestClient(port: port)
    }
  }
}
