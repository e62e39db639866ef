import ChangesetTestSupport
import Feed
import FeedStore
import FeedTestSupport
import Oracle
import Testing

@testable import FeedConfiguration
@testable import FeedTools

/// Feeds with records from the maximum number of topics.
@Suite struct ManyTopicsTests {
  /// The settings that leave the least room for an entry.
  private static let options: FeedStoreOptions = {
    var options = FeedStoreOptions()
    options.limits.maxDataBytes = 1
    options.output.maxMessageBytes = FeedStoreConfiguration.messageOverhead + 1
    options.coalescing.windowMilliseconds = 1_000_000
    options.coalescing.idleWindowMilliseconds = 1_000_000
    options.planner.maxChangedFraction = 1000
    options.planner.maxBytesRatio = 1000
    options.keyframe.maxDeltas = 1
    return options
  }()

  /// The longest topic names.
  private static let topics = (0..<TopicOffset.greatestCount).map { number in
    let digits = String(number)
    return String(repeating: "t", count: TopicName.greatestByteCount - digits.count) + digits
  }

  /// An id of 255 bytes that needs the most room in JSON.
  private static func id(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: #"\u0001"#, count: 254) + (number < 16 ? #"\u000"# : #"\u00"#) + digits
  }

  private static func line(_ topic: String, offset: Int64, ts: Int64, _ value: String) -> String {
    #"{"topic":"\#(topic)","offset":\#(offset),"ts":\#(ts),"key":"\#(id(0))","value":\#(value)}"#
  }

  private static func items(_ section: Int, kind: Int) -> String {
    let items = (11...30).map { #"{"id":"\#(id($0))","kind":"\#(id(kind))","data":1}"# }
    return #"{"op":"section.replace","section":"\#(id(section))","items":[\#(items.joined(separator: ","))]}"#
  }

  @Test func `every changeset fits, however long ids, topics and offsets are`() async throws {
    let greatest: Int64 = 1 << 53 - 10
    var lines = Self.topics.enumerated().map { number, topic in
      Self.line(topic, offset: greatest, ts: 0, number == 0 ? Self.items(1, kind: 2) : "[]")
    }
    // Items are reloaded, moved, deleted and inserted in separate changesets, with keyframes in between.
    let changes = [
      Self.items(1, kind: 3), Self.items(4, kind: 3), #"{"op":"section.delete","section":"\#(Self.id(1))"}"#,
      #"{"op":"section.replace","section":"\#(Self.id(4))","items":[]}"#, Self.items(4, kind: 5),
    ]
    for (number, change) in changes.enumerated() {
      let offset = greatest + 1 + Int64(number)
      lines.append(Self.line(Self.topics[0], offset: offset, ts: Int64(number + 1) * 2_000_000, change))
    }
    let replay = try await VerifiedReplay(lines, Self.options)
    let values = replay.lines.filter { $0.contains(#""value":{"#) }
    var longest = 0
    for line in values {
      let start = try #require(line.firstRange(of: #""value":"#)).upperBound
      let value = line[start...].dropLast()
      longest = max(longest, value.utf8.count)
      #expect(value.utf8.count <= Self.options.output.maxMessageBytes)
      #expect(value.contains(#""\#(Self.topics[199])":\#(greatest)"#))
    }
    for list in ["insert", "move", "delete", "reload"] {
      #expect(values.contains { $0.contains(#""items":{"\#(list)":[{"#) }, "no items are in \(list)")
    }
    #expect(values.contains { $0.contains(#""reason":"keyframe""#) && $0.contains(#""part":1,"#) })
    // The reserve is not excessive: with a tenth more topics it would be too small.
    #expect(longest > FeedStoreConfiguration.messageOverhead * 9 / 10)
    #expect(try await replay.verify(replay.lines).told == [])
  }

  @Test func `one topic more ends the replay, with file, line and remedy`() async throws {
    let folder = try TemporaryFolder()
    let lines = Self.topics.map { Self.line($0, offset: 0, ts: 0, "[]") }
    let fitting = try folder.file("fitting.ndjson", lines.joined(separator: "\n").utf8)
    func replay(_ inputs: [String]) -> Replay {
      Replay(inputs, Self.options)
    }
    _ = try await replay([fitting, fitting]).run()
    let named = Self.line("one.more", offset: 0, ts: 0, "[]")
    for (more, name) in [(named, "one.more"), (#"{"key":"f","value":[]}"#, "feeds.items")] {
      let more = try folder.file("more.ndjson", (lines[0] + "\n" + more + "\n").utf8)
      let error = await #expect(throws: ReplayError.self) { try await replay([fitting, more]).run() }
      let message = error?.message ?? ""
      #expect(
        message.contains("more.ndjson:2: the line has the topic \"\(name)\", one more than the 200"),
        "\(message)"
      )
      #expect(message.contains("use a command of their own"), "\(message)")
    }
  }

  @Test func `a replica refuses a changeset with more topics`() throws {
    func value(_ topics: [String]) -> String {
      let through = topics.map { #""\#($0)":1"# }.joined(separator: ",")
      return """
        {"feed":"f","epoch":"t/1","revision":1,"base":0,"mode":"reload","reason":"initial",\
        "time":"2026-11-20T10:00:00.000Z","through":{\(through)},"checksum":"00000000"}
        """
    }
    func apply(_ value: String) throws {
      try ReplicaPartition().apply(Array("k0/f".utf8), Array(value.utf8))
    }
    try apply(value(Self.topics))
    for topics in [Self.topics + ["one.more"], ["not a topic's name"], [""]] {
      let fault = #expect(throws: ReplicaFault.self) { try apply(value(topics)) }
      #expect(fault?.message.contains(#""through" is not valid"#) == true, "\(String(describing: fault))")
    }
  }
}
