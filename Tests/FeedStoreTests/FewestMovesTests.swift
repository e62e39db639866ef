import Feed
import FeedStore
import FeedTestSupport
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
      partition: 0,
      offset: offset,
      timestamp: offset,
      key: Array("f".utf8),
      value: Array(value.utf8)
    )
  }

  private static func list(_ order: [Int]) -> String { order.map { "\"i\($0)\"" }.joined(separator: ",") }

  @Test func `every permutation of up to six items is published with the fewest moves`() async throws {
    var records: [OracleRecord] = []
    for count in 1...6 {
      for permutation in Permutations.of(count) {
        for order in [Array(0..<count), permutation] {
          records.append(
            Self.record(
              #"{"op":"section.replace","section":"s","items":[\#(Self.list(order))]}"#,
              records.count
            )
          )
        }
      }
    }
    var driver = StoreDriver(Self.options())
    try await driver.run(records)
  }

  @Test func `every permutation of seven items is published with the fewest moves`() async throws {
    var records: [OracleRecord] = []
    for permutation in Permutations.of(7) {
      records.append(
        Self.record(
          #"{"op":"section.replace","section":"s","items":[\#(Self.list(permutation))]}"#,
          records.count
        )
      )
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
}
