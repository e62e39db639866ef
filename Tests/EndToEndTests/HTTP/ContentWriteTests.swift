import Feed
import FeedStore
import FoundationEssentials
import HTTP
import HTTPTestSupport
import Kafka
import KafkaTestSupport
import ObservationSupport
import Testing

@testable import FeedConfiguration

/// Contents from HTTP clients.
struct ContentWriteTests {
  private struct Answer: Decodable {
    let content: String?
    let feed: String?
    let topic: String?
    let partition: Int32?
    let offset: Int64?
    let code: String?
    let detail: String?
  }

  /// A server whose brokers have a topic of contents, unless that is not named.
  private static func ground(
    contents: String? = "contents",
    writes: Bool = true,
    _ body: (ServedGround) async throws -> Void
  ) async throws {
    let ground = try ServedGround(isAssigned: false, contents: contents) { $0.takesWrites = writes }
    try ground.cluster.createTopic("contents", partitions: 3)
    try ground.cluster.createTopic("feeds.items", partitions: 1)
    try await body(ground)
    await ground.end()
  }

  private static func ask(
    _ ground: ServedGround,
    _ line: String,
    _ header: String = "Accept: */*",
    body: String? = nil
  ) async throws -> (status: Int, answer: Answer) {
    let client = try ground.connect()
    try client.request(line, header, body: body)
    let response = try await EventReader(client).response()
    return (response.status, try JSONDecoder().decode(Answer.self, from: Data(response.body)))
  }

  @Test func `contents are records of their topic, and a deletion is a null`() async throws {
    try await Self.ground { ground in
      let spelled = #" { "name" : "Ada" , "n" : 9007199254740993 } "#
      let longest = String(repeating: "i", count: 255)
      let writes: [(line: String, id: String, body: String?)] = [
        ("POST /v1/contents/user-7", "user-7", spelled),
        ("POST /v1/contents/a%2F%C3%A4", "a/ä", "{}"), ("POST /v1/contents/\(longest)", longest, "{}"),
        ("DELETE /v1/contents/user-7", "user-7", nil), ("DELETE /v1/contents/unknown", "unknown", nil),
      ]
      var places: [String: [Int64]] = [:]
      for write in writes {
        // Not waited for.
        let (status, answer) = try await Self.ask(ground, write.line, "Prefer: wait=600", body: write.body)
        #expect(status == 202 && answer.content == write.id && answer.topic == "contents", "\(write.line)")
        #expect(answer.feed == nil)
        places["\(answer.partition ?? -1)", default: []].append(try #require(answer.offset))
      }
      #expect(places.values.allSatisfy { $0 == Array(0..<Int64($0.count)) })
      let records = try Ground.contents(
        of: "contents",
        partitions: 3,
        ["bootstrap.servers": ground.cluster.bootstrapServers]
      )
      for (_, id, body) in writes {
        let written = records.filter { $0.key == Array(id.utf8) }
        #expect(written.contains { $0.value == body.map { Array($0.utf8) } }, "\(id)")
        #expect(Set(written.map(\.partition)).count == 1)
      }
      #expect(records.count == writes.count)
      // Events go to their own topic.
      let event = #"{"op":"item.upsert","item":"x","section":"s"}"#
      let (status, answer) = try await Self.ask(ground, "POST /v1/feeds/f/events", body: event)
      #expect(status == 202 && answer.topic == "feeds.items" && answer.feed == "f" && answer.content == nil)
    }
  }

  @Test func `what the store would reject is not written`() async throws {
    try await Self.ground { ground in
      let most = FeedStoreConfiguration().store.limits.maxDataBytes / 8
      // White space does not count.
      let full = #"{ "x" : "\#(String(repeating: "x", count: most - 8))" }"#
      #expect(try await Self.ask(ground, "POST /v1/contents/full", body: full).status == 202)
      let refused: [(body: String, code: String, detail: String)] = [
        ("", "invalid-json", ""), ("{", "invalid-json", ""), ("null", "invalid-field", "must be an object"),
        ("[]", "invalid-field", "must be an object"), (#""{}""#, "invalid-field", "must be an object"),
        (#"{"x":"\ud83d"}"#, "invalid-json", ""),
        (full.replacing("{ ", with: #"{"y":1,"#), "limit-exceeded", "an eighth of limits.maxDataBytes"),
      ]
      for (body, code, detail) in refused {
        let (status, answer) = try await Self.ask(ground, "POST /v1/contents/id", body: body)
        #expect(status == 422 && answer.code == code, "\(body.prefix(20)): \(answer)")
        #expect(answer.detail?.contains(detail) == true, "\(answer)")
      }
      let long = String(repeating: "i", count: 256)
      for (method, body) in [("POST", "{}"), ("DELETE", nil)] {
        let (status, answer) = try await Self.ask(ground, "\(method) /v1/contents/\(long)", body: body)
        #expect(status == 422 && answer.code == "limit-exceeded", "\(answer)")
      }
      let (status, answer) = try await Self.ask(
        ground,
        "POST /v1/contents/id",
        "If-Match: \"a@1\"",
        body: "{}"
      )
      #expect(status == 400 && answer.code == "invalid-parameter")
      #expect(try await Self.ask(ground, "DELETE /v1/contents/id", body: "{}").status == 413)
      #expect(try await Self.ask(ground, "POST /v1/contents/", body: "{}").status == 404)
      #expect(try await Self.ask(ground, "GET /v1/contents/id").status == 405)
    }
  }

  @Test func `without their topic or without writes, contents are refused with the remedy`() async throws {
    for (contents, writes, status, code, remedy) in [
      (nil, true, 404, "contents-off", "topics.contents"),
      ("contents", false, 403, "writes-off", "http.writes.enabled"),
    ] {
      try await Self.ground(contents: contents, writes: writes) { ground in
        for (method, body) in [("POST", "{}"), ("DELETE", nil)] {
          let (found, answer) = try await Self.ask(ground, "\(method) /v1/contents/id", body: body)
          #expect(found == status && answer.code == code, "\(answer)")
          #expect(answer.detail?.contains(remedy) == true)
        }
      }
    }
  }

  @Test func `without the topic, events are written nevertheless`() async throws {
    try await Self.ground { ground in
      try ground.cluster.setTopicError("contents", .unknownTopic)
      let (status, answer) = try await Self.ask(ground, "POST /v1/contents/id", body: "{}")
      #expect(status == 503 && answer.code == "not-written", "\(answer)")
      let event = #"{"op":"item.delete","item":"x"}"#
      #expect(try await Self.ask(ground, "POST /v1/feeds/f/events", body: event).status == 202)
    }
  }
}
