import ChangesetTestSupport
import Feed
import FeedClient
import Oracle
import Testing

@testable import FeedTools

struct ScreenFrameTests {
  private let partition = ReplicaPartition()

  private func apply(_ key: String, _ value: String) throws -> ReplicaChange {
    let outcome = try partition.apply(Array(key.utf8), Array(value.utf8))
    guard case .applied(let change) = outcome else {
      Issue.record("\(outcome)")
      throw CancellationError()
    }
    return change
  }

  private func frame(rows: Int = .max, columns: Int = .max) throws -> ScreenFrame {
    _ = try apply(
      "k0/f",
      """
      {"feed":"f","epoch":"t/0","revision":1,"base":0,"mode":"reload","reason":"initial",\
      "time":"2026-11-20T10:00:00.250Z","through":{"t":0},"checksum":"\(Self.first)",\
      "sections":[{"id":"s","data":null,"items":[{"id":"a","kind":"k","data":1},{"id":"b","kind":"k","data":2},\
      {"id":"c","kind":"k","data":3}]}]}
      """
    )
    let change = try apply(
      "d1/f",
      """
      {"feed":"f","epoch":"t/0","revision":2,"base":1,"mode":"diff",\
      "time":"2026-11-20T10:00:01.250Z","through":{"t":1},"checksum":"\(Self.second)",\
      "sections":{"insert":[{"id":"n","index":1,"data":7}]},\
      "items":{"insert":[{"id":"d","section":"n","index":0,"kind":"\\u001b","data":4}],\
      "move":[{"id":"a","from":{"section":"s","index":0},"to":{"section":"s","index":2}}],\
      "reconfigure":[{"id":"b","section":"s","index":0,"data":20}],\
      "reload":[{"id":"a","section":"s","index":2,"kind":"k","data":10}]}}
      """
    )
    let snapshot = try #require(partition.replica(of: "f")).snapshot()
    let changeset = FeedChangeset(change: change, values: [], partition: 0, offset: 1)
    return ScreenFrame(.changed(changeset, snapshot), columns: columns, rows: rows)
  }

  /// The checksums of the changesets' results.
  private static let first = checksum([("s", ["a", "b", "c"].map { ($0, "k") })])
  private static let second = checksum([
    ("s", ["b", "c", "a"].map { ($0, "k") }), ("n", [("d", "\u{1B}")]),
  ])

  private static func checksum(_ sections: [(id: String, items: [(id: String, kind: String)])]) -> String {
    let sections = sections.map { section in
      OracleSection(
        id: Array(section.id.utf8),
        items: section.items.map { OracleItem(id: Array($0.id.utf8), kind: Array($0.kind.utf8)) }
      )
    }
    return Replica.hexadecimal(OracleChecksum.of(OracleFeed(sections: sections)))
  }

  @Test func `each element's line shows its change, and no terminal control characters`()
    throws
  {
    let lines = try frame().lines
    #expect(
      lines.dropFirst().map(\.text) == [
        "   s  null", "   ~ b  k  20", "     c  k  3", "  ↕! a  k  10", "+  n  7",
        "  +  d  \u{FFFD}  4",
      ]
    )
    #expect(lines.map(\.mark) == [.title, .section, .reconfigured, .none, .moved, .inserted, .inserted])
    #expect(lines[0].text.contains("rev 2"))
  }

  @Test func `lines that do not fit on the screen are cut and counted`() throws {
    let lines = try frame(rows: 4, columns: 5).lines.map(\.text)
    #expect(lines.dropFirst() == ["   s ", "   ~ ", "… 3 m"])
  }

  @Test func `a frame is drawn over the previous one`() throws {
    let frame = try frame(rows: 4, columns: 20)
    let drawn = TerminalScreen.draw([frame])
    #expect(drawn.hasPrefix("\u{1B}[H"))
    #expect(drawn.hasSuffix("\u{1B}[J"))
    #expect(drawn.split(separator: "\r\n").allSatisfy { $0.contains("\u{1B}[K") })
    #expect(drawn.contains("\u{1B}[36m"))
    #expect(!TerminalScreen.draw([frame], isColoured: false).contains(/\x1b\[[0-9]*m/))
  }
}
