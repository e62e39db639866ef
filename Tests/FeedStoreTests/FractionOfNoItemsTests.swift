import ChangesetTestSupport
import Feed
import FeedStore
import Oracle
import Testing

/// The planner's fractions in feeds without items.
@Suite struct FractionOfNoItemsTests {
  private static let create = #"{"op":"feed.replace","sections":[{"id":"s"},{"id":"t"},{"id":"u"}]}"#

  /// The mode, or a reload's reason, that a record publishes after the feed's first changeset.
  private func published(_ value: String, minimumItems: Int) async throws -> [String] {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 0
    options.planner.minimumItems = minimumItems
    // Neither sizes nor keyframes should matter for these small feeds.
    options.planner.maxBytesRatio = 1000
    options.keyframe.maxBytesRatio = 1000
    var driver = StoreDriver(options)
    var found: [String] = []
    driver.onFlush = { records in
      for record in records {
        let value = try OracleJSON.parse(record.value ?? [], maxDepth: .max)
        let word = value.last("reason") ?? value.last("mode")
        found.append(String(decoding: word?.string ?? [], as: UTF8.self))
      }
    }
    let records = [Self.create, value].enumerated().map { number, value in
      OracleRecord(offset: number, timestamp: number, key: Array("f".utf8), value: Array(value.utf8))
    }
    // The driver compares the output with the oracle, too.
    try await driver.run(records)
    #expect(found.first == "initial")
    return Array(found.dropFirst())
  }

  @Test(arguments: [
    // The weight is known from the tally, or only after looking up positions.
    #"{"op":"section.upsert","section":"v"}"#, #"{"op":"section.delete","section":"t"}"#,
    #"{"op":"section.move","section":"u","at":"first"}"#, #"{"op":"section.reload","section":"s"}"#,
  ])
  func `any weight exceeds a fraction of no items, if there is no minimum of items`(
    value: String
  ) async throws {
    #expect(try await published(value, minimumItems: 0) == ["fraction"])
    #expect(try await published(value, minimumItems: 1) == ["diff"])
  }

  @Test func `the data of sections has no weight`() async throws {
    let value = #"{"op":"section.upsert","section":"s","data":1}"#
    #expect(try await published(value, minimumItems: 0) == ["reconfigure"])
  }

  @Test func `a move that changes nothing publishes nothing`() async throws {
    let value =
      #"[{"op":"section.move","section":"u","at":"first"},{"op":"section.move","section":"u","at":"last"}]"#
    #expect(try await published(value, minimumItems: 0) == [])
  }

  @Test func `the fraction of changed kinds is 0 if there are no items`() async throws {
    // All items are deleted, so the fraction counts against those before.
    let value =
      #"[{"op":"item.upsert","item":"a","section":"s"},{"op":"section.upsert","section":"s","data":2},{"op":"item.delete","item":"a"}]"#
    #expect(try await published(value, minimumItems: 0) == ["reconfigure"])
  }
}
