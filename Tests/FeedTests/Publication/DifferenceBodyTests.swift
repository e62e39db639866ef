import Testing

@testable import Feed

/// The spelling of a difference's entries, and their division into parts.
struct DifferenceBodyTests {
  private let sample = SampleState()
  private let top: ElementHandle
  private let old: ElementHandle
  private var difference = FeedDifference()

  init() {
    top = sample.addSection("top", data: "{}")
    old = sample.addSection("o\"ld")
  }

  private typealias Entry = FeedDifference.Entry

  /// The values that are written, by part.
  private func values(limit: Int = .max) -> [String] {
    var body = DifferenceBody()
    body.encode(difference, of: sample.state)
    let head = SampleState.head(.diff)
    let output = ByteWriter()
    var starts: [Int] = []
    var parts: [Int] = []
    body.write(head: head, headBytes: SampleState.text(head).utf8.count, limit: limit, to: output) {
      parts.append($0)
      starts.append($1)
    }
    #expect(parts == Array(parts.indices))
    let text = Array(output.written.text.utf8)
    let ends = starts.dropFirst() + [text.count]
    let values = zip(starts, ends).map { String(decoding: text[$0..<$1], as: UTF8.self) }
    if values.count == 1 {
      #expect(values[0].utf8.count == SampleState.text(head).utf8.count + body.byteCount + 1)
    }
    return values
  }

  /// The text after the head of the only value.
  private func body() -> String {
    let values = values()
    #expect(values.count == 1)
    return String(values[0].dropFirst(SampleState.text(SampleState.head(.diff)).count))
  }

  @Test mutating func `the ten lists stand in the order of the document, each with its fields`() {
    let story = sample.addItem("a", to: top, kind: "story", data: "1")
    let other = sample.addItem("b", to: top, data: "[2]")
    difference.sections[.delete] = [Entry(handle: old, from: Rank(1))]
    difference.sections[.insert] = [Entry(handle: top, to: Rank(2))]
    difference.sections[.move] = [Entry(handle: top, from: Rank(3), to: Rank(4))]
    difference.sections[.reconfigure] = [Entry(handle: top, to: Rank(5))]
    difference.sections[.reload] = [Entry(handle: old, to: Rank(6))]
    difference.items[.delete] = [
      Entry(handle: story, fromScope: .items(of: old), from: Rank(7), toScope: .items(of: top), to: Rank(99))
    ]
    difference.items[.insert] = [
      Entry(handle: story, fromScope: .items(of: old), from: Rank(99), toScope: .items(of: top), to: Rank(8))
    ]
    difference.items[.move] = [
      Entry(handle: story, fromScope: .items(of: old), from: Rank(9), toScope: .items(of: top), to: Rank(10))
    ]
    difference.items[.reconfigure] = [Entry(handle: story, toScope: .items(of: top), to: Rank(11))]
    difference.items[.reload] = [Entry(handle: other, toScope: .items(of: top), to: Rank(12))]
    let sections = [
      #""delete":[{"id":"o\"ld","index":1}]"#,
      #""insert":[{"id":"top","index":2,"data":{}}]"#,
      #""move":[{"id":"top","from":3,"to":4}]"#,
      #""reconfigure":[{"id":"top","index":5,"data":{}}]"#,
      #""reload":[{"id":"o\"ld","index":6,"data":null}]"#,
    ]
    let items = [
      #""delete":[{"id":"a","section":"o\"ld","index":7}]"#,
      #""insert":[{"id":"a","section":"top","index":8,"kind":"story","data":1}]"#,
      #""move":[{"id":"a","from":{"section":"o\"ld","index":9},"to":{"section":"top","index":10}}]"#,
      #""reconfigure":[{"id":"a","section":"top","index":11,"data":1}]"#,
      #""reload":[{"id":"b","section":"top","index":12,"kind":"","data":[2]}]"#,
    ]
    let expected =
      #","sections":{"# + sections.joined(separator: ",") + #"},"items":{"# + items.joined(separator: ",")
      + "}}"
    #expect(body() == expected)
  }

  @Test mutating func `empty lists and groups are left out`() {
    difference.items[.delete] = [
      Entry(handle: sample.addItem("a", to: top), fromScope: .items(of: top), from: Rank(0))
    ]
    #expect(body() == #","items":{"delete":[{"id":"a","section":"top","index":0}]}}"#)
    difference = FeedDifference()
    difference.sections[.move] = [
      Entry(handle: top, from: Rank(0), to: Rank(1)), Entry(handle: old, from: Rank(1), to: Rank(0)),
    ]
    let moves = #"{"id":"top","from":0,"to":1},{"id":"o\"ld","from":1,"to":0}"#
    #expect(body() == #","sections":{"move":[\#(moves)]}}"#)
  }

  @Test mutating func `parts are as full as they can be, for every limit`() throws {
    for number in 0..<30 {
      let item = sample.addItem(
        "i\(number)",
        to: top,
        data: String(repeating: "7", count: 1 + number * 5 % 40)
      )
      difference.items[.insert].append(Entry(handle: item, toScope: .items(of: top), to: Rank(number)))
    }
    let partCounts = try checkParts { parts, number, limit in
      guard number > 0, let entry = entries(of: parts[number]).first else { return }
      // The first entry of a part did not fit into the previous part, with a comma.
      #expect(parts[number - 1].utf8.count + 1 + entry.utf8.count > limit, "limit \(limit), part \(number)")
    }
    // Also with more than nine parts: their number takes room in each.
    #expect(partCounts.contains { $0 >= 10 } && partCounts.contains(2))
  }

  @Test mutating func `parts of several lists open each of them again`() throws {
    for number in 0..<12 {
      let item = sample.addItem("i\(number)", to: top, data: String(repeating: "7", count: 1 + number))
      let entry = Entry(handle: item, toScope: .items(of: top), to: Rank(number))
      if number % 2 == 0 {
        difference.items[.insert].append(entry)
      } else {
        difference.items[.reload].append(entry)
      }
    }
    difference.sections[.insert] = [Entry(handle: top, to: Rank(0)), Entry(handle: old, to: Rank(1))]
    _ = try checkParts { parts, number, limit in
      #expect(parts[number].hasSuffix("]}}"), "limit \(limit), part \(number)")
      let groups = parts[number].components(of: ",\"items\":{").count
      #expect(groups <= 2, "limit \(limit), part \(number)")
    }
  }

  /// Writes with every limit below the whole size, and checks each part.
  ///
  /// - Returns: the numbers of parts.
  private func checkParts(_ check: ([String], _ number: Int, _ limit: Int) throws -> Void) throws -> Set<Int>
  {
    let whole = try #require(values().first)
    #expect(values(limit: whole.utf8.count) == [whole])
    var partCounts: Set<Int> = []
    for limit in 280..<whole.utf8.count {
      let parts = values(limit: limit)
      partCounts.insert(parts.count)
      #expect(parts.count > 1, "limit \(limit)")
      for (number, part) in parts.enumerated() {
        #expect(part.utf8.count <= limit, "limit \(limit), part \(number)")
        let head = SampleState.text(SampleState.head(.diff), part: (number, parts.count))
        #expect(part.hasPrefix(head), "limit \(limit), part \(number)")
        try check(parts, number, limit)
      }
      #expect(parts.flatMap { entries(of: $0) } == entries(of: whole), "limit \(limit)")
    }
    return partCounts
  }

  /// The entries of a value, which contain no braces.
  private func entries(of value: String) -> [String] {
    value.components(of: "{\"id\":").dropFirst().map { "{\"id\":" + $0.prefix { $0 != "}" } + "}" }
  }
}
