import Testing

@testable import Feed
@testable import FeedChecks

/// A feed that was given up with a sorted ordered section receives changesets, and then events.
struct OrderAfterDifferenceTests {
  private typealias Case = (
    fill: @Sendable (inout ItemChanges) -> Void, next: String, items: [ItemIdentifier]
  )

  private static func at(_ index: Int) -> ItemPosition { ItemPosition(section: "top", index: index) }
  private static func data(_ text: String) -> JSONData { withSpan(text) { JSONData(checked: $0) } }

  private static let cases: [Case] = [
    (
      { $0.reconfigures = [.init(id: "d", position: at(0), data: data("4"))] }, "4.5", ["i", "d", "a", "c"]
    ),
    (
      {
        $0.moves = [.init(id: "d", from: at(0), to: at(2))]
        $0.reconfigures = [.init(id: "d", position: at(2), data: data("0"))]
      }, "0.5", ["a", "c", "i", "d"]
    ),
    (
      { $0.inserts = [.init(id: "h", position: at(2), kind: "", data: data("2"))] }, "2.5",
      ["d", "a", "i", "h", "c"]
    ),
  ]

  @Test(arguments: cases.indices) func `an item finds its place among those that a difference brought`(
    number: Int
  ) {
    let ground = FeedGround()
    let section = #"{"op":"section.upsert","section":"top","order":[{"by":"","direction":"descending"}]}"#
    #expect(ground.apply(section) == nil)
    func put(_ item: String, _ data: String) {
      let event = #"{"op":"item.upsert","item":"\#(item)","section":"top","data":\#(data)}"#
      #expect(ground.apply(event) == nil)
    }
    for (item, data) in [("a", "3"), ("c", "1"), ("d", "5")] { put(item, data) }
    ground.feed.confirm()
    let (fill, next, items) = Self.cases[number]
    var changes = ItemChanges()
    fill(&changes)
    let bytes = DifferenceBytes()
    #expect(throws: Never.self) {
      try ground.feed.state.apply(bytes.entries(of: SnapshotDifference(items: changes)))
    }
    withExtendedLifetime(bytes) {}
    ground.feed.state.confirm()
    put("i", next)
    #expect(ground.feed.snapshot().itemIdentifiers == items)
    ground.feed.checkInvariants()
  }
}
