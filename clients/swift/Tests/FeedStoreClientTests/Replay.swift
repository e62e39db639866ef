import Foundation
import Testing

@testable import FeedStoreClient

/// A changeset as its parts, and the feed that results as a reload; nil if it is deleted.
struct PublishedChangeset: Sendable {
  let feed: String
  let version: String
  var texts: [String]
  var state: [String]?
}

/// Settings with which a replay publishes differences wherever it can.
let onlyDifferences = [
  "planner.maxChangedFraction": "1000000000", "planner.maxKindFraction": "1000000000",
  "planner.maxBytesRatio": "1000000000", "coalesce.window": "0",
]

/// What `feedstore replay` makes of records, whose changesets are the truth to compare with.
enum Replay {
  /// The changesets of records, each with the state after it: a keyframe follows every changeset.
  static func changesets(_ records: [String], settings: [String: String] = [:]) throws -> [PublishedChangeset]
  {
    var found: [PublishedChangeset] = []
    for line in try output(records, settings.merging(["keyframe.maxBytesRatio": "0"]) { own, _ in own }) {
      guard let value = line["value"], !value.isNull else { continue }
      let changeset = try Changeset(value.text)
      let feed = changeset.feed.rawValue
      let version = "\(changeset.head.epoch)@\(changeset.head.revision)"
      if changeset.head.reason == "keyframe" {
        let index = try #require(found.lastIndex { $0.feed == feed && $0.version == version })
        found[index].state = (found[index].state ?? []) + [value.text]
      } else if changeset.part > 0 {
        found[found.count - 1].texts.append(value.text)
        found[found.count - 1].state?.append(value.text)
      } else {
        let state = changeset.mode == .reload ? [value.text] : nil
        found.append(PublishedChangeset(feed: feed, version: version, texts: [value.text], state: state))
      }
    }
    return found
  }

  /// The updates that a `Feed` gives for a random history, with some reloads.
  static func updates(_ name: String, records count: Int) throws -> [FeedUpdate] {
    var records = RandomRecords(random: SeededRandom(name), feeds: ["f"])
    var replica = Replica("f")
    let settings = onlyDifferences.merging(["planner.maxChangedFraction": "0.9"]) { $1 }
    return try changesets(records.lines(count), settings: settings).compactMap { changeset in
      var outcome = ReplicaOutcome.skipped
      for text in changeset.texts { outcome = try replica.apply(text) }
      switch outcome {
      case .applied(let change):
        return FeedUpdate(kind: change.mode == .reload ? .state : .changed(change), view: replica.view)
      case .removed: return FeedUpdate(kind: .absent, view: replica.view)
      default: return nil
      }
    }
  }

  /// The lines of the changesets topic.
  static func output(_ records: [String], _ settings: [String: String]) throws -> [JSONObject] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (input, output) = (folder.appendingPathComponent("input"), folder.appendingPathComponent("output"))
    try records.joined(separator: "\n").write(to: input, atomically: false, encoding: .utf8)
    let process = Process()
    process.executableURL = Checkout.feedstore
    process.arguments =
      [
        "replay", input.path, "--output", output.path, "--rejected",
        folder.appendingPathComponent("rejected").path,
      ]
      + settings.flatMap { ["--set", "\($0.key)=\($0.value)"] }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "feedstore replay failed")
    return try String(contentsOf: output, encoding: .utf8).split(separator: "\n").map {
      try #require(JSONObject(try JSONText(checking: String($0))))
    }
  }
}

/// Random choices that depend only on the seed, which is printed: `FEEDSTORE_SEED` repeats a run.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(_ name: String) {
    let seed =
      ProcessInfo.processInfo.environment["FEEDSTORE_SEED"].flatMap(UInt64.init)
      ?? UInt64.random(in: 0..<1 << 32)
    print("\(name): FEEDSTORE_SEED=\(seed)")
    state = seed
  }

  /// SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
    return z ^ z >> 31
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
  mutating func pick<Element>(_ list: [Element]) -> Element { list.randomElement(using: &self)! }
}

/// Random records as lines of a replay file.
struct RandomRecords {
  static let sections = ["s0", "s1", "s2", "s3", "é", "e\u{301}"]
  static let items = (0..<14).map { "i\($0)" } + ["é", "e\u{301}", "\\\"", "__proto__", "😀"]
  static let kinds = ["", "story", "ad"]

  var random: SeededRandom
  var feeds = ["f", "g", "a/b"]

  mutating func lines(_ count: Int) -> [String] {
    (0..<count).map { offset in
      let events = (0..<(random.chance(30) ? Int.random(in: 0..<5, using: &random) : 1)).map { _ in event() }
      let value =
        random.chance(1) ? "null" : events.count == 1 ? events[0] : "[\(events.joined(separator: ","))]"
      let (key, time) = (JSONValue.quoted(random.pick(feeds)), offset * 10)
      return
        "{\"topic\":\"feeds.items\",\"partition\":0,\"offset\":\(offset),\"ts\":\(time),\"key\":\(key),\"value\":\(value)}"
    }
  }

  mutating func event() -> String {
    let item = JSONValue.quoted(random.pick(Self.items))
    let section = JSONValue.quoted(random.pick(Self.sections))
    func event(_ op: String, _ members: [String]) -> String {
      "{\((["\"op\":\"\(op)\""] + members.filter { !$0.isEmpty }).joined(separator: ","))}"
    }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<45:
      return event(
        "item.upsert",
        [
          "\"item\":\(item)", "\"section\":\(section)",
          maybe("kind", JSONValue.quoted(random.pick(Self.kinds))), maybe("data", data()),
          random.chance(40) ? place(Self.items) : "",
        ]
      )
    case 45..<55:
      return event(
        "item.patch",
        ["\"item\":\(item)", "\"data\":\(random.pick(["{\"a\":null,\"b\":1}", "{\"a\":{\"c\":2}}", "7"]))"]
      )
    case 55..<68:
      return event("item.move", ["\"item\":\(item)", maybe("section", section), place(Self.items)])
    case 68..<76: return event("item.delete", ["\"item\":\(item)"])
    case 76..<81:
      return event(
        "section.upsert",
        [
          "\"section\":\(section)", maybe("data", data()), random.chance(40) ? place(Self.sections) : "",
          order(),
        ]
      )
    case 81..<85: return event("section.move", ["\"section\":\(section)", place(Self.sections)])
    case 85..<88: return event("section.delete", ["\"section\":\(section)"])
    case 88..<91: return event("item.reload", ["\"item\":\(item)"])
    case 91..<94: return event("item.reconfigure", ["\"item\":\(item)"])
    case 94..<96: return event("section.reload", ["\"section\":\(section)"])
    case 96..<98:
      let ids = Self.items.shuffled(using: &random).prefix(6).map(JSONValue.quoted)
      return event(
        "section.replace",
        ["\"section\":\(section)", "\"items\":[\(ids.joined(separator: ","))]"]
      )
    case 98: return event(random.pick(["feed.clear", "feed.reload", "feed.delete"]), [])
    default: return event("feed.replace", ["\"sections\":[{\"id\":\(section),\"items\":[\(item)]}]"])
    }
  }

  private mutating func maybe(_ name: String, _ value: String) -> String {
    random.chance(60) ? "\"\(name)\":\(value)" : ""
  }

  mutating func data() -> String {
    random.pick([
      "null", "1", "1.0", "\"é\"", "{\"a\":1,\"b\":[1,2]}", "{\"a\":{\"c\":1},\"a\":2}", "[]", "\"\\u0041\"",
      "1e400",
    ])
  }

  private mutating func order() -> String {
    random.chance(25)
      ? random.pick(["\"order\":[{\"by\":\"/a\"}]", "\"order\":null", "\"keep\":5", "\"keep\":null"]) : ""
  }

  private mutating func place(_ ids: [String]) -> String {
    let other = JSONValue.quoted(random.pick(ids))
    return "\"at\":"
      + random.pick([
        "\"first\"", "\"last\"", "{\"index\":\(Int.random(in: 0..<9, using: &random))}",
        "{\"before\":\(other)}", "{\"after\":\(other)}",
      ])
  }
}
