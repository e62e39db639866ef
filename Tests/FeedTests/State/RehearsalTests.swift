import FeedTestSupport
import Testing

@testable import Feed

@Suite struct RehearsalTests {
  /// The events of a value between patches of two items, whose data soon has more than 40 bytes.
  private static func patching(_ value: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    let text = String(decoding: value, as: UTF8.self)
    var events = text[...]
    if let first = text.firstIndex(of: "["), text[..<first].allSatisfy(\.isWhitespace) {
      events = text[text.index(after: first)..<(text.lastIndex(of: "]") ?? text.endIndex)]
    }
    let patches = (0..<6).map { _ in
      let (item, name) = (random.pick(["a", "b"]), random.pick(["x", "y", "z"]))
      return #"{"op":"item.patch","item":"\#(item)","data":{"\#(name)":"0123456789"}}"#
    }
    let all = patches[..<4] + (events.allSatisfy(\.isWhitespace) ? [] : [String(events)]) + patches[4...]
    return Array("[\(all.joined(separator: ","))]".utf8)
  }

  @Test(arguments: RandomCases.seeds(1...8))
  func `a rehearsal tells what applying the events leads to`(seed: UInt64) {
    var options = GeneratorOptions()
    options.maxEvents = 12
    options.badPercent = 0
    options.limits.maxDataBytes = 40
    options.weights[.feedReplace] = 3
    options.weights[.sectionReplace] = 6
    options.weights[.sectionDelete] = 4
    options.weights[.feedClear] = 2
    var generator = RecordGenerator(seed: seed, options: options)
    var random = SplitMix64(seed: seed)
    let ground = FeedGround(options.limits)
    var met: [String: Int] = [:]
    for (number, record) in generator.records(4_000).enumerated() {
      guard var value = record.value else { continue }
      if random.chance(20) { value = Self.patching(value, &random) }
      var expected: String??
      let rejection = ground.apply(value) {
        guard ground.decoder.isArray else { return }
        let count = ground.decoder.events.count
        let first = random.below(count + 1)
        let state = ground.feed.state
        state.beginJournal()
        if let rejection = ground.applyEvents(0..<first) {
          expected = rejection
        } else {
          let rehearsed = ground.rehearse(from: first)
          let applied = ground.applyEvents(first..<count)
          #expect(rehearsed.rejection == applied, "seed \(seed): \(String(decoding: value, as: UTF8.self))")
          if applied == nil { #expect(rehearsed.sectionCount == state.sectionCount, "seed \(seed)") }
          let kind = ["at.", "'section'", "maxDataBytes"].first { applied?.contains($0) == true }
          met[kind ?? (applied == nil ? "accepted" : "other"), default: 0] += 1
          expected = applied
        }
        state.undoJournal()
      }
      if let expected {
        #expect(rejection == expected, "seed \(seed): \(String(decoding: value, as: UTF8.self))")
      }
      if number.isMultiple(of: 7) { ground.feed.confirm() }
    }
    for kind in ["at.", "'section'", "maxDataBytes", "accepted"] {
      #expect(met[kind, default: 0] >= 10, "seed \(seed): \(met)")
    }
    #expect(met["other"] == nil, "seed \(seed): \(met)")
  }

  // MARK: Short records

  private static let count = 100

  private static let filled = """
    [{"op":"section.replace","section":"many","items":[\((0..<count).map { "\"i\($0)\"" }.joined(separator: ","))]},
    {"op":"item.upsert","section":"few","item":"long","data":"0123456789"}]
    """

  private static func limits() -> Limits {
    var limits = Limits()
    limits.maxItems = count + 1
    limits.maxSections = 2
    limits.maxDataBytes = 20
    return limits
  }

  @Test(
    arguments: [
      #"{"op":"feed.clear"}"#, #"{"op":"feed.delete"}"#, #"{"op":"feed.replace","sections":[]}"#,
      #"{"op":"section.delete","section":"many"}"#, #"{"op":"section.replace","section":"many","items":[]}"#,
    ],
    [
      #"{"op":"item.upsert","item":"new"}"#,
      #"{"op":"item.upsert","item":"i1"}"#,
      #"{"op":"item.upsert","item":"new","section":"few","at":{"after":"i1"}}"#,
      #"{"op":"item.upsert","item":"new","section":"many","at":{"before":"i1"}}"#,
      #"{"op":"section.upsert","section":"few","at":{"before":"none"}}"#,
      #"{"op":"item.upsert","item":"long","section":"few","data":{"a":"0123456789"}},{"op":"item.patch","item":"long","data":{"b":"0123456789"}}"#,
      #"{"op":"section.upsert","section":"a"},{"op":"section.upsert","section":"b"},{"op":"section.upsert","section":"c"}"#,
    ]
  )
  func `a short record that empties a list and is rejected leaves the feed alone`(
    emptying: String,
    rejected: String
  ) {
    let ground = FeedGround(Self.limits())
    #expect(ground.apply(Self.filled) == nil)
    ground.feed.confirm()
    let checksum = ground.feed.checksum
    let state = ground.feed.state
    let other = FeedGround(Self.limits())
    #expect(other.apply(Self.filled) == nil)
    var expected: String?
    _ = other.apply(Array("[\(emptying),\(rejected)]".utf8)) {
      expected = other.applyEvents(0..<other.decoder.events.count)
    }
    // Also where others have almost used up what the process may keep.
    for bytes in [0, Limits().maxStateBytes - 100] {
      let usage = StateUsage(feeds: 1, bytes: bytes)
      let rejection = ground.apply("[\(emptying),\(rejected)]", usage: usage)
      if let expected {
        #expect(rejection == expected)
      } else {
        #expect(rejection?.hasSuffix("more than limits.maxSections (2)") == true)
      }
      #expect(state.items.changes.isEmpty && state.sections.changes.isEmpty && state.replacedScopes.isEmpty)
      #expect(ground.feed.checksum == checksum)
    }
    #expect(ground.apply("[\(emptying)]") == nil)
    #expect(ground.feed.checksum != checksum)
  }

  @Test func `nor does a record that empties many lists one by one`() {
    var limits = Limits()
    limits.maxSections = 5
    let ground = FeedGround(limits)
    let sections = (0..<5).map { section in
      #"{"id":"s\#(section)","items":[\#((0..<8).map { "\"\(section).\($0)\"" }.joined(separator: ","))]}"#
    }
    #expect(ground.apply(#"{"op":"feed.replace","sections":[\#(sections.joined(separator: ","))]}"#) == nil)
    ground.feed.confirm()
    let deletions = (0..<5).map { #"{"op":"section.delete","section":"s\#($0)"}"# }.joined(separator: ",")
    #expect(ground.apply(#"[\#(deletions),{"op":"item.upsert","item":"x"}]"#) != nil)
    // It has 6 events, so up to 12 elements may go before it is rehearsed: one list of 8, not two.
    #expect(ground.feed.state.replacedScopes.count == 1)
  }

  @Test func `a limit that comes first is named first`() {
    let ground = FeedGround()
    #expect(ground.apply(Self.filled) == nil)
    let long = String(repeating: "x", count: 40_000)
    let rejection = ground.apply(
      #"""
      [{"op":"section.delete","section":"many"},{"op":"section.replace","section":"few","items":["x"],"data":"\#(long)"},
      {"op":"item.upsert","item":"new"}]
      """#,
      usage: StateUsage(feeds: 1, bytes: Limits().maxStateBytes)
    )
    #expect(rejection?.hasPrefix("event 1 leaves the process with ") == true, "\(rejection ?? "accepted")")
  }

  @Test func `events that were applied already are not rehearsed`() {
    let ground = FeedGround()
    #expect(ground.apply(Self.filled) == nil)
    let rejection = ground.apply(
      #"""
      [{"op":"item.upsert","item":"new","section":"few","at":{"before":"long"}},{"op":"item.delete","item":"long"},
      {"op":"section.delete","section":"many"}]
      """#
    )
    #expect(rejection == nil)
    #expect(ground.feed.itemCount == 1)
  }

  @Test func `a rehearsal gives up once patches have made much data`() {
    let ground = FeedGround()
    #expect(ground.apply(Self.filled) == nil)
    let patches = String(repeating: #"{"op":"item.patch","item":"long","data":{"a":1}},"#, count: 3)
    _ = ground.apply(Array(#"[\#(patches){"op":"item.upsert","item":"new"}]"#.utf8)) {
      let enough = ground.rehearse(from: 0, mostPatchedBytes: 21)
      #expect(enough.rejection?.hasPrefix("event 3: field 'section' is missing") == true)
      let short = ground.rehearse(from: 0, mostPatchedBytes: 20)
      #expect(short.rejection == nil && short.sectionCount == nil)
    }
  }
}
