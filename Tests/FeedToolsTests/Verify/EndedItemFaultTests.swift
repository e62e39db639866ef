import Feed
import FeedStore
import Testing

/// Deletions of items that ended, which no newer record causes.
struct EndedItemFaultTests {
  private static let input = [
    #"{"ts":0,"key":"f","value":{"op":"section.replace","section":"s","items":[{"id":"a","expires":1000},{"id":"b","expires":2000},"c",{"id":"d","expires":1000}]}}"#,
    #"{"ts":1500,"key":"g","value":{"op":"section.upsert","section":"s"}}"#,
    #"{"ts":2500,"key":"f","value":{"op":"item.upsert","item":"e","section":"s"}}"#,
  ]

  private func verify(_ change: (inout [String]) -> Void) async throws -> [String] {
    var options = FeedStoreOptions()
    options.planner.minimumItems = 1000
    let replay = try await VerifiedReplay(Self.input, options)
    var lines = replay.lines
    change(&lines)
    return try await replay.verify(lines).told
  }

  @Test func `deletions of ended items are not faults`() async throws {
    let told = try await verify { _ in }
    #expect(told == [])
  }

  @Test(arguments: [
    (
      #"{"id":"d","kind":"","data":null,"expires":"1970-01-01T00:00:01.000Z"}"#,
      #"{"id":"d","kind":"","data":null,"expires":"1970-01-01T00:00:01.500Z"}"#,
      #"the time is "1970-01-01T00:00:01.000Z", expected 1970-01-01T00:00:01.500Z"#
    ),
    (
      #""expires":"1970-01-01T00:00:02.000Z""#, #""expires":"1970-01-01T00:00:00.500Z""#,
      "an item that ended earlier, at 1970-01-01T00:00:00.500Z, is still there"
    ),
    (
      #"{"id":"a","kind":"","data":null,"expires":"1970-01-01T00:00:01.000Z"}"#,
      #"{"id":"a","kind":"","data":null}"#,
      #"item "a" is deleted without a newer record, and has no end"#
    ),
  ])
  func `a deletion that no end explains is a fault`(text: String, other: String, message: String) async throws
  {
    let told = try await verify { lines in
      #expect(lines[0].contains(text))
      lines[0].replace(text, with: other)
    }
    #expect(told.first?.contains(message) == true, "\(told)")
  }
}
