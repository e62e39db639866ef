import FeedStore
import Oracle
import Testing

@testable import Feed

/// The planner's decisions, by example. The store and the oracle must agree with them.
@Suite struct ReloadReasonTests {
  /// An event, its thresholds, and its publication: modes, or the reasons of reloads.
  typealias Example = (
    event: String, published: [String], thresholds: @Sendable (inout PlannerThresholds) -> Void
  )

  /// Of a feed with the section `s` and the items a to j.
  private static let ofItems: [Example] = [
    (#"{"op":"feed.delete"}"#, ["delete"], { _ in }),
    (#"{"op":"feed.reload"}"#, ["requested"], { _ in }),
    (#"{"op":"section.replace","section":"s","items":["k"]}"#, ["disjoint"], { _ in }),
    (#"{"op":"feed.clear"}"#, ["diff"], { _ in }),
    (keeping("a", "b", "c", "d"), ["fraction"], { $0.minimumItems = 10 }),
    (keeping("a", "b", "c", "d", "e"), ["diff"], { $0.minimumItems = 10 }),
    (keeping("a", "b", "c", "d"), ["diff"], { $0.minimumItems = 11 }),
    (keeping("a", "b", "c", "d"), ["changes"], { ($0.minimumItems, $0.maxChanges) = (10, 5) }),
    (threeKinds, ["kinds"], { ($0.minimumItems, $0.maxKindFraction) = (10, 0.25) }),
    (threeKinds, ["diff"], { ($0.minimumItems, $0.maxKindFraction) = (10, 0.3) }),
    (threeKinds, ["bytes"], { $0.maxBytesRatio = 0.1 }),
    (data, ["reconfigure"], { ($0.minimumItems, $0.maxChanges, $0.maxBytesRatio) = (0, 0, 0.1) }),
  ]

  /// For a feed with the sections s, t and u, and no items: any weight exceeds a fraction of none.
  private static let ofSections: [Example] = [
    // The weight is known from the tally, or only after looking up positions.
    (#"{"op":"section.upsert","section":"v"}"#, ["fraction"], { $0.minimumItems = 0 }),
    (#"{"op":"section.delete","section":"t"}"#, ["fraction"], { $0.minimumItems = 0 }),
    (#"{"op":"section.move","section":"u","at":"first"}"#, ["fraction"], { $0.minimumItems = 0 }),
    (#"{"op":"section.reload","section":"s"}"#, ["fraction"], { $0.minimumItems = 0 }),
    (#"{"op":"section.reload","section":"s"}"#, ["diff"], { $0.minimumItems = 1 }),
    (#"{"op":"section.upsert","section":"s","data":1}"#, ["reconfigure"], { $0.minimumItems = 0 }),
    (
      #"[{"op":"section.move","section":"u","at":"first"},{"op":"section.move","section":"u","at":"last"}]"#,
      [], { $0.minimumItems = 0 }
    ),
    // All items are deleted, so the fraction refers to the previous items.
    (
      #"[{"op":"item.upsert","item":"a","section":"s"},{"op":"section.upsert","section":"s","data":2},{"op":"item.delete","item":"a"}]"#,
      ["reconfigure"], { $0.minimumItems = 0 }
    ),
  ]

  private static let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]

  private static func keeping(_ ids: String...) -> String {
    #"{"op":"section.replace","section":"s","items":\#(ids)}"#
  }

  private static let threeKinds =
    "[\(ids.prefix(3).map { #"{"op":"item.upsert","item":"\#($0)","kind":"ad"}"# }.joined(separator: ","))]"
  private static let data =
    "[\(ids.map { #"{"op":"item.upsert","item":"\#($0)","data":"a long story"}"# }.joined(separator: ","))]"

  @Test(arguments: ofItems)
  func `items`(example: Example) async throws {
    try await check(example, #"{"op":"feed.replace","sections":[{"id":"s","items":\#(Self.ids)}]}"#)
  }

  @Test(arguments: ofSections)
  func `sections without items`(example: Example) async throws {
    try await check(example, #"{"op":"feed.replace","sections":[{"id":"s"},{"id":"t"},{"id":"u"}]}"#)
  }

  private func check(_ example: Example, _ create: String) async throws {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 0
    // Neither sizes nor keyframes should matter for these small feeds.
    options.planner.maxBytesRatio = 1000
    options.planner.maxReloadRatio = 1000
    options.keyframe.maxBytesRatio = 1000
    example.thresholds(&options.planner)
    var driver = StoreDriver(options)
    var found: [String] = []
    driver.onFlush = { records in
      for value in records.compactMap(\.value) {
        let json = try OracleJSON.parse(value, maxDepth: .max)
        found.append(
          String(decoding: (json.last("reason") ?? json.last("mode"))?.string ?? [], as: UTF8.self)
        )
      }
    }
    let records = [create, example.event].enumerated().map { number, value in
      OracleRecord(offset: number, timestamp: number, key: Array("f".utf8), value: Array(value.utf8))
    }
    // The driver compares the output with the oracle, too.
    try await driver.run(records)
    #expect(found == ["initial"] + example.published, "\(example.event)")
  }
}
