import Feed
import FeedStore
import Testing

/// Changesets that contents cause, and their header.
struct ContentsFaultTests {
  private static let input = [
    #"{"ts":0,"topic":"c","key":"a","value":{"n":1}}"#,
    #"{"ts":0,"topic":"c","key":"b","value":{"n":1}}"#,
    #"{"ts":0,"key":"f","value":[{"op":"section.upsert","section":"s","order":[{"by":"/a/n"}]},{"op":"item.upsert","item":"i","section":"s","data":{},"refs":{"a":"a"}},{"op":"item.upsert","item":"j","section":"s","data":{"a":{"n":2}},"expires":5000}]}"#,
    #"{"ts":1000,"topic":"c","key":"a","value":{"n":3}}"#,
    #"{"ts":2000,"topic":"c","key":"a","value":{"n":0}}"#,
    #"{"ts":6000,"topic":"c","key":"a","value":{"n":4}}"#,
    #"{"ts":9000,"key":"g","value":{"op":"section.upsert","section":"s"}}"#,
  ]

  private func verify(_ change: (inout [String]) -> Void) async throws -> [String] {
    var options = FeedStoreOptions()
    options.topics.contents = "c"
    options.planner.minimumItems = 1000
    let replay = try await VerifiedReplay(Self.input, options)
    // One moves the item, and one deletes an item that ended, too.
    #expect(
      replay.lines.filter { $0.contains(#""through":{"feeds.items":0}"#) }.count == 6,
      "\(replay.lines)"
    )
    var lines = replay.lines
    change(&lines)
    return try await replay.verify(lines).told
  }

  private static func header(_ text: String) -> String { #""feedstore.contents","\#(text)""# }

  @Test func `changesets that only contents cause are not faults`() async throws {
    let told = try await verify { _ in }
    #expect(told == [])
  }

  @Test(arguments: [
    (
      #"{\"0\":2}"#, #"{\"0\":0}"#,
      "feedstore.contents of revision 2 falls from 1 to 0 for partition 0 of the contents"
    ),
    (
      #"{\"0\":2}"#, #"{\"1\":7}"#, "feedstore.contents of revision 2 falls from 1 to nothing for partition 0"
    ),
    (
      #"{\"0\":2}"#, #"{\"0\":-2}"#,
      #"the header "feedstore.contents" is "{"0":-2}", expected offsets by partition"#
    ),
    (#"{\"0\":3}"#, #"{}"#, #"the header "feedstore.contents" is "{}", expected offsets by partition"#),
  ])
  func `offsets of contents that go back are a fault`(
    text: String,
    other: String,
    message: String
  ) async throws {
    let told = try await verify { lines in
      let line = lines.firstIndex { $0.contains(Self.header(text)) } ?? 0
      #expect(line > 0, "\(lines)")
      lines[line].replace(Self.header(text), with: Self.header(other))
    }
    #expect(told.first?.contains(message) == true, "\(told)")
  }

  @Test func `contents cause no insertions`() async throws {
    let told = try await verify { lines in
      #expect(lines[1].contains(#""through":{"feeds.items":0}"#))
      lines[1].replace(
        #""reconfigure":["#,
        with: #""insert":[{"id":"k","section":"s","index":2,"kind":"","data":1}],"reconfigure":["#
      )
    }
    #expect(told.first?.contains("without a newer record") == true, "\(told)")
  }
}
