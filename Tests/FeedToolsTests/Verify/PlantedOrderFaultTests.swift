import Feed
import FeedStore
import Testing

/// Ordered sections out of order, and bounded ones with too many items.
@Suite struct PlantedOrderFaultTests {
  private static let options: FeedStoreOptions = {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 0
    options.keyframe.maxBytesRatio = 100
    options.planner.minimumItems = 1000
    options.planner.maxBytesRatio = 100
    return options
  }()

  /// Its output: 1 the feed, 2 data, 3 data and a move, 4 another order, 5 an item more, 6 a lower bound, 7 a reload.
  private static let input = [
    #"{"op":"feed.replace","sections":[{"id":"s","order":[{"by":""}],"keep":4,"items":[{"id":"a","data":1},{"id":"b","data":2},{"id":"c","data":3}]}]}"#,
    #"{"op":"item.patch","item":"b","data":2.5}"#, #"{"op":"item.patch","item":"a","data":9}"#,
    #"{"op":"section.upsert","section":"s","order":[{"by":"","direction":"descending"}]}"#,
    #"{"op":"item.upsert","item":"d","section":"s","data":5}"#,
    #"{"op":"section.upsert","section":"s","keep":2}"#, #"{"op":"feed.reload"}"#,
  ].enumerated().map { #"{"ts":\#($0 * 1000),"key":"f","value":\#($1)}"# }

  private typealias Plant = PlantedFaultTests.Plant

  private static let table = #"""
    a reload out of order, line 1
    "order":[{"by":""}] → "order":[{"by":"","direction":"descending"}]
    item "a" precedes "b", expected after it by the section's order
    a reload with more items than its section keeps, line 1
    "keep":4 → "keep":2
    section "s" has 3 items and keeps 2
    data that belongs elsewhere, line 2
    "data":2.5 → "data":3.5
    item "b" precedes "c", expected after it by the section's order
    data that belongs elsewhere after a move, line 3
    "data":9 → "data":2.7
    item "c" precedes "a", expected after it by the section's order
    an order that its items do not have, line 4
    "order":[{"by":"","direction":"descending"}] → "order":[{"by":""}]
    item "a" precedes "c", expected after it by the section's order
    an item in a wrong place, line 5
    "data":5 → "data":10
    item "a" precedes "d", expected after it by the section's order
    a bound that its items exceed, line 4
    "keep":4 → "keep":2
    section "s" has 3 items and keeps 2
    a reload that says another bound, line 7
    "keep":2 → "keep":1
    section "s" has 2 items and keeps 1
    """#

  @Test func `the output has the lines that the faults expect`() async throws {
    let replay = try await VerifiedReplay(Self.input, Self.options)
    #expect(replay.lines.count == 7)
    #expect(try await replay.verify(replay.lines).told == [])
  }

  @Test(arguments: Plant.table(table))
  fileprivate func `a fault is found at its place`(plant: PlantedFaultTests.Plant) async throws {
    try await plant.check(VerifiedReplay(Self.input, Self.options))
  }
}
