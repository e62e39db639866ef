import FeedConfiguration
import FeedStore
import Kafka
import KafkaTestSupport
import OperatingSystem
import Settings
import Testing

@testable import FeedTools

/// `feedstore publish` of contents, and `feedstore inspect --content`.
struct ContentInspectionTests {
  private static func inspect(_ ground: Ground, _ id: String) async throws -> String? {
    try await ContentInspection.run(ground.configuration, id: id, stop: StopRequest(), log: Ground.quiet)
  }

  @Test func `a content is shown with the items that refer to it`() async throws {
    var ground = try Ground(partitions: 2)
    defer { ground.cluster.stop() }
    try ground.cluster.createTopic("contents", partitions: 3)
    ground.configuration.store.topics.contents = "contents"
    let contents = [
      #"{"ts":5,"topic":"contents","key":"user-7","value":{"name":"Ada"}}"#,
      #"{"ts":1795168800000,"topic":"contents","key":"user-7","value":{"name":"Grace"}}"#,
      #"{"ts":1795168800000,"topic":"contents","key":"user-8","value":null}"#,
    ]
    #expect(try await ground.publish(contents).topics == ["contents": 3])

    let items = (0..<120).map { #"{"id":"i\#($0)","data":{},"refs":{"a":"user-8"}}"# }.joined(separator: ",")
    _ = try await ground.publishReplay(of: [
      """
      {"ts":1,"key":"f","value":{"op":"item.upsert","item":"i","section":"s","data":{},"refs":{"a":"user-7","b":"user-7"}}}
      {"ts":1,"key":"g","value":{"op":"item.upsert","item":"j","section":"s","data":{},"refs":{"a":"user-9","user-7":"user-70"}}}
      {"ts":1,"key":"h","value":{"op":"feed.replace","sections":[{"id":"s","items":[\(items)]}]}}
      """
    ])

    // The partition of Java's clients, murmur2 of the id.
    #expect(
      try await Self.inspect(ground, "user-7") == """
        contents 2/1  2026-11-20T10:00:00.000Z  {"name":"Grace"}
        items: 1, in feeds: 1
        f [0]  i  "a", "b"

        """
    )
    let deleted = try #require(try await Self.inspect(ground, "user-8")).split(separator: "\n")
    #expect(deleted[0] == "contents 0/0  2026-11-20T10:00:00.000Z  deleted")
    #expect(deleted[1] == "items: 120, in feeds: 1" && deleted.count == 103)
    #expect(deleted.last == "… and 20 more")
    #expect(
      try await Self.inspect(ground, "user-9")?.hasPrefix(
        "contents has no record of it: items show null\nitems: 1"
      ) == true
    )
    #expect(try await Self.inspect(ground, "a") == nil)
  }

  @Test func `without topics.contents there are no contents`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    let error = await #expect(throws: ConfigurationError.self) { try await Self.inspect(ground, "a") }
    #expect(error?.message.contains("topics.contents is not set") == true)
  }
}
