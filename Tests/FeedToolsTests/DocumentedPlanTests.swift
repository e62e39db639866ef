import Diagnostics
import Feed
import FeedStore
import FeedTestSupport
import FeedTools
import FoundationEssentials
import Oracle
import Testing

/// The table of reloads and their cost in docs/protocol.md has the figures of replays.
struct DocumentedPlanTests {
  /// A row of the table: the size of a feed, and the event that changes it.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let items: Int
    let event: @Sendable () -> String

    var testDescription: String { name }
  }

  private static let text = String(repeating: "x", count: 176)

  private static func item(_ number: Int, kind: String = "story") -> String {
    let id = String(repeating: "0", count: 6 - String(number).count) + String(number)
    return #"{"id":"i\#(id)","kind":"\#(kind)","data":{"title":"\#(text)","v":0}}"#
  }

  private static func feed(_ items: [String]) -> String {
    #"{"op":"feed.replace","sections":[{"id":"s","items":[\#(items.joined(separator: ","))]}]}"#
  }

  private static func feed(_ numbers: some Sequence<Int>) -> String { feed(numbers.map { item($0) }) }

  static let cases: [Case] = [
    Case(name: "12 of 105 items move", items: 105) {
      let moves = (0..<12).map { number in
        let id = String(item(8 * number + 1).dropFirst(7).prefix(7))
        return #"{"op":"item.move","item":"\#(id)","at":"first"}"#
      }
      return "[\(moves.joined(separator: ","))]"
    },
    Case(name: "60 of 100 items are deleted", items: 100) { feed(0..<40) },
    Case(name: "60 of 100 items give way to 60 others", items: 100) { feed(Array(0..<40) + (1000..<1060)) },
    Case(name: "100 items are put in reverse order", items: 100) { feed((0..<100).reversed()) },
    Case(name: "6,000 items are added to 6,000", items: 6_000) { feed(0..<12_000) },
    Case(name: "6,000 items are added to 94,000", items: 94_000) { feed(0..<100_000) },
    Case(name: "60 of 100 items change their kind", items: 100) {
      feed((0..<100).map { item($0, kind: $0 < 60 ? "ad" : "story") })
    },
  ]

  @Test(arguments: cases) func `a row of the table equals the result of a replay`(row: Case) async throws {
    let records = [Self.feed(0..<row.items), row.event()].enumerated().map { number, event in
      #"{"ts":\#(number * 1000),"key":"f","value":\#(event)}"# + "\n"
    }
    var options = FeedStoreOptions()
    options.output.maxMessageBytes = 2_147_483_647
    let run = try await ReplayRun(records.joined().utf8, options)
    let line = try #require(run.output.split(separator: "\n").dropFirst().first)
    let record = try OracleJSON.parse(Array(line.utf8))
    let headers = (record.last("headers")?.elements ?? []).compactMap(\.string)
    let plan = try OracleJSON.parse(try #require(headers.last))
    func figure(_ name: String) throws -> Int {
      try #require(plan.last(name).flatMap { Int(String(decoding: $0.minified, as: UTF8.self)) })
    }
    let weight = try figure("weight")
    let items = try max(figure("itemsBefore"), figure("itemsAfter"))
    let found = [
      row.name, Quantity.count(weight), Quantity.fixed(Double(weight) / Double(items), digits: 2),
      Quantity.bytes(try figure("differenceBytes")), Quantity.bytes(try figure("reloadBytes")),
    ]
    let value = try #require(record.last("value"))
    let mode = try #require(value.last("reason")?.string ?? value.last("mode")?.string)
    let page = try #require(String(validating: readFile(Self.page), as: UTF8.self))
    let expected = try #require(
      page.split(separator: "\n").first { $0.hasPrefix("| \(row.name) |") },
      "the page has no row “\(row.name)”; it is | \(found.joined(separator: " | ")) |"
    )
    let cells = expected.split(separator: "|").map { $0.trimmingPrefix { $0 == " " } }
      .map { String($0.reversed().drop { $0 == " " }.reversed()) }
    #expect(Array(cells.prefix(5)) == found)
    #expect(cells[5].contains("`\(String(decoding: mode, as: UTF8.self))`"), "\(cells[5])")
  }

  private static let page: String = {
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/\(package)/docs/protocol.md"
  }()
}
