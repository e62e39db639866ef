import Foundation
import Testing

@testable import FeedStoreClient

@Suite(.enabled(if: Checkout.hasCommand)) struct HistoryTests {
  @Test(arguments: [onlyDifferences, ["coalesce.window": "200"], ["coalesce.window": "0"]])
  func `every changeset of a random history leads to the published state`(_ settings: [String: String]) throws
  {
    var records = RandomRecords(random: SeededRandom("history"))
    var replicas: [String: Replica] = [:]
    var applied = 0
    for changeset in try Replay.changesets(records.lines(1500), settings: settings) {
      var replica = replicas[changeset.feed] ?? Replica(FeedID(changeset.feed))
      let before = replica.view
      var outcome = ReplicaOutcome.skipped
      for text in changeset.texts { outcome = try replica.apply(text) }
      replicas[changeset.feed] = replica
      guard let state = changeset.state else {
        #expect(!replica.view.exists)
        continue
      }
      guard case .applied(let change) = outcome else {
        Issue.record("\(changeset.version): \(outcome)")
        continue
      }
      applied += 1
      var truth = Replica(FeedID(changeset.feed))
      for text in state { _ = try truth.apply(text) }
      #expect(replica.view.state.document == truth.view.state.document, "\(changeset.version)")
      #expect(replica.view.state.checksum == FeedState.checksum(of: replica.view.sections))
      #expect(
        Set(replica.view.state.itemsById.keys) == Set(replica.view.sections.flatMap { $0.items.map(\.id) })
      )
      for item in replica.view.sections.flatMap(\.items) { #expect(replica.view.item(item.id) === item) }
      checkIdentity(before, replica.view, change)
    }
    #expect(applied > 100)
  }

  /// Exactly what changed is another object.
  private func checkIdentity(_ before: FeedView, _ after: FeedView, _ change: FeedChange) {
    for section in after.sections {
      if let former = before.section(section.id) { #expect((former === section) == former.equals(section)) }
      for item in section.items {
        guard let former = before.item(item.id) else { continue }
        #expect((former === item) == former.equals(item))
        if change.mode != .reload, former !== item {
          let isListed =
            (change.items.reconfigures + change.items.reloads).contains { $0.id == item.id }
            || change.items.moves.contains { $0.id == item.id && $0.from.section != $0.to.section }
          #expect(isListed, "\(item.id) is another object, but is not in the change")
        }
      }
    }
  }
}

@Suite struct JSONTests {
  @Test(.enabled(if: Checkout.hasVectors)) func `merge patches have the bytes of the vectors`() throws {
    for line in try Checkout.lines("merge-patch.ndjson") {
      let data = try JSONText(checking: try #require(line["data"]?.string))
      let patch = try JSONText(checking: try #require(line["patch"]?.string))
      #expect(mergePatched(data, patch) == line["result"]?.string, "\(data.text) with \(patch.text)")
    }
  }

  @Test func `what is not JSON is refused`() {
    for text in [
      "", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "01", "1.", ".5", "-", "1e", "\"", "\"\\x\"", "\"\\u12g4\"",
      "\"\n\"", "tru", "1 2",
      "[1}", "{1:2}", "nulll", "\u{feff}1",
    ] {
      #expect(throws: JSONFault.self, "\(text)") { try JSONText(checking: text) }
    }
  }

  @Test func `values are typed, and their text is their spelling`() throws {
    let value = try JSONValue(
      text:
        " {\"a\": [1, 1.5, -0, 1e400, true, null, \"\\u00e9\\ud83d\\ude00\"], \"b\": {}, \"b\": 12345678901234567168} "
    )
    #expect(value["a"]?[0]?.integer == 1)
    #expect(value["a"]?[1]?.number == 1.5)
    #expect(value["a"]?[3]?.number == .infinity)
    #expect(value["a"]?[4]?.bool == true)
    #expect(value["a"]?[5]?.isNull == true)
    #expect(value["a"]?[6]?.string == "é😀")
    #expect(value["b"]?.number == 12_345_678_901_234_567_168)
    #expect(try JSONValue(text: JSONValue.string("\u{1}\"\\\n\u{7f}é").text) == "\u{1}\"\\\n\u{7f}é")
    #expect((["b": 1, "a": [nil, true, 1.5]] as JSONValue).text == "{\"a\":[null,true,1.5],\"b\":1}")
    #expect(try JSONText(checking: "[ 1.0 , \" \\\" \" ]").compactText == "[1.0,\" \\\" \"]")
  }

  @Test func `a text of any depth is checked, and a value of any depth is released`() throws {
    let depth = 100_000
    let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    #expect(try JSONText(checking: text).range.count == 2 * depth)
    var value = try JSONValue(text: text)
    var levels = 0
    while case .array(let elements) = value, let inner = elements.first {
      (value, levels) = (inner, levels + 1)
    }
    #expect(value.string?.hasPrefix("[[[") == true)
    #expect(levels == 200)
  }

  @Test func `ids are compared byte by byte`() {
    #expect(ItemID("é") != ItemID("e\u{301}"))
    #expect(Set([ItemID("é"), ItemID("e\u{301}")]).count == 2)
  }
}

@Suite struct EventStreamParserTests {
  @Test func `events are the same however the stream is cut`() {
    let text =
      "\u{feff}retry: 20\r\n:\r\nevent: a\r\ndata: 1\r\ndata: é\r\n\r\nid: 3\rdata:x\r\rdata\n\nevent: lost\n\ndata: end\n\n"
    let expected = [
      StreamEvent(name: "a", data: "1\né"), StreamEvent(name: "message", data: "x"),
      StreamEvent(name: "message", data: ""),
      StreamEvent(name: "message", data: "end"),
    ]
    let bytes = Array(text.utf8)
    for size in 1...bytes.count {
      var parser = EventStreamParser()
      var events: [StreamEvent] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        events += parser.push(Array(bytes[start...].prefix(size)))
      }
      #expect(events == expected, "pieces of \(size)")
      #expect(parser.retry == 20)
    }
  }
}
