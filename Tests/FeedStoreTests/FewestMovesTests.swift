import Feed
import FeedStore
import Oracle
import Testing

@Suite struct FewestMovesTests {
  private static func options() -> FeedStoreOptions {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 0
    options.planner.maxBytesRatio = 1e9
    options.planner.minimumItems = 1000
    return options
  }

  private static func record(_ value: String, _ offset: Int) -> OracleRecord {
    OracleRecord(
      topic: "feeds.sections",
      offset: offset,
      timestamp: offset,
      key: Array("f".utf8),
      value: Array(value.utf8)
    )
  }

  @Test(arguments: [1...6, 7...7])
  func `every permutation of up to seven items is published with the fewest moves`(
    counts: ClosedRange<Int>
  ) async throws {
    var records: [OracleRecord] = []
    for count in counts {
      for permutation in Permutations.of(count) {
        // Permutations of seven follow each other, because there are many.
        for order in count < 7 ? [Array(0..<count), permutation] : [permutation] {
          let list = order.map { "\"i\($0)\"" }.joined(separator: ",")
          records.append(
            Self.record(#"{"op":"section.replace","section":"s","items":[\#(list)]}"#, records.count)
          )
        }
      }
    }
    var driver = StoreDriver(Self.options())
    try await driver.run(records)
  }

  @Test func `every permutation of five sections is published with the fewest moves`() async throws {
    var records: [OracleRecord] = []
    for permutation in Permutations.of(5) {
      let sections = permutation.map { #"{"id":"s\#($0)","items":["i\#($0)"]}"# }.joined(separator: ",")
      records.append(Self.record(#"{"op":"feed.replace","sections":[\#(sections)]}"#, records.count))
    }
    var driver = StoreDriver(Self.options())
    try await driver.run(records)
  }

  // MARK: Lists that are both replaced and changed by single events in one window

  /// So many that a few single moves are looked up one by one.
  private static let ids = (0..<60).map { "e\($0)" }
  /// The result of the single moves: three elements are placed before the first. Moving only the first one is enough.
  private static let order = Array(ids[1...3] + ids[...0] + ids[4...])

  private static func singleMoves(of element: String) -> [String] {
    [("e1", #"{"before":"e0"}"#), ("e2", #"{"after":"e1"}"#), ("e3", #"{"after":"e2"}"#)].map { id, place in
      #"{"op":"\#(element).move","\#(element)":"\#(id)","at":\#(place)}"#
    }
  }

  /// The publication of a record with these events after another record.
  private func published(_ events: [String], on base: String) async throws -> String {
    var published: [String] = []
    var driver = StoreDriver(Self.options())
    driver.onFlush = { records in
      published += records.compactMap { $0.value.map { String(decoding: $0, as: UTF8.self) } }
    }
    try await driver.run([Self.record(base, 0), Self.record("[\(events.joined(separator: ","))]", 1)])
    #expect(published.count == 2)
    return published.last ?? ""
  }

  @Test(arguments: [(isSection: true, isReplacedFirst: true), (true, false), (false, true), (false, false)])
  func `what is replaced and moved singly in one window is published with the fewest moves`(
    isSection: Bool,
    isReplacedFirst: Bool
  ) async throws {
    func replacing(_ ids: [String]) -> String {
      let list = ids.map { isSection ? #"{"id":"\#($0)"}"# : "\"\($0)\"" }.joined(separator: ",")
      return isSection
        ? #"{"op":"feed.replace","sections":[\#(list)]}"#
        : #"{"op":"section.replace","section":"s","items":[\#(list)]}"#
    }
    let moves = Self.singleMoves(of: isSection ? "section" : "item")
    let events = isReplacedFirst ? [replacing(Self.ids)] + moves : moves + [replacing(Self.order)]
    let changeset = try await published(events, on: replacing(Self.ids))
    let end =
      isSection
      ? #","sections":{"move":[{"id":"e0","from":0,"to":3}]}}"#
      : #","items":{"move":[{"id":"e0","from":{"section":"s","index":0},"to":{"section":"s","index":3}}]}}"#
    #expect(changeset.hasSuffix(end))
  }
}
