import Testing

@testable import Feed

/// The text of a whole feed, in one value or in parts.
struct ReloadWriterTests {
  private let sample = SampleState()
  private let head = SampleState.head(.reload)

  private var headBytes: Int { SampleState.text(head).utf8.count }

  private func values(limit: Int = .max) -> [String] {
    var writer = ReloadWriter(sample.state, head: head, headBytes: headBytes, limit: limit)
    var values: [String] = []
    while !writer.isFinished {
      let output = ByteWriter()
      #expect(writer.writePart(to: output) == values.count)
      values.append(output.written.text)
    }
    #expect(values.count == writer.partCount)
    return values
  }

  @Test func `a feed without sections has only the head`() {
    #expect(values() == [SampleState.text(head) + "}"])
    #expect(ReloadWriter.byteCount(sample.state, headBytes: headBytes) == headBytes + 1)
  }

  @Test func `sections without items have no list of items`() {
    let top = sample.addSection("t\"op", data: "{}")
    _ = sample.addSection("empty")
    sample.addItem("a", to: top, kind: "story", data: "1")
    sample.addItem("b", to: top)
    let expected =
      SampleState.text(head) + #","sections":[{"id":"t\"op","data":{},"items":["#
      + #"{"id":"a","kind":"story","data":1},{"id":"b","kind":"","data":null}]},{"id":"empty","data":null}]}"#
    #expect(values() == [expected])
    #expect(ReloadWriter.byteCount(sample.state, headBytes: headBytes) == expected.utf8.count)
  }

  @Test func `parts of one section are as full as they can be, for every limit`() throws {
    let section = sample.addSection("s", data: "[1,2]")
    for item in 0..<30 {
      sample.addItem(
        "i\(item)",
        to: section,
        kind: "k",
        data: String(repeating: "8", count: 1 + item * 7 % 60)
      )
    }
    let partCounts = try checkParts { parts, number, limit in
      guard number > 0 else { return }
      // It continues without data, with an item that did not fit into the previous part.
      let items = parts[number].components(of: ",\"sections\":[{\"id\":\"s\",\"items\":[")
      #expect(items.count == 2, "limit \(limit), part \(number)")
      let first = try #require(items.last).prefix { $0 != "}" } + "}"
      #expect(parts[number - 1].utf8.count + 1 + first.utf8.count > limit, "limit \(limit), part \(number)")
    }
    #expect(partCounts.contains { $0 >= 10 } && partCounts.contains(2))
  }

  @Test func `parts of several sections list each element in its place, and data once`() throws {
    for section in 0..<4 {
      let handle = sample.addSection("s\(section)", data: String(repeating: "1", count: 1 + 20 * section))
      guard section != 2 else { continue }
      for item in 0..<8 {
        sample.addItem("i\(section)\(item)", to: handle, data: String(repeating: "8", count: 1 + item * 7))
      }
    }
    _ = try checkParts { parts, number, limit in
      #expect(parts[number].hasSuffix("}]}"), "limit \(limit), part \(number)")
      #expect(!parts[number].contains("\"items\":[]"), "limit \(limit), part \(number)")
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
    for limit in 320..<whole.utf8.count {
      let parts = values(limit: limit)
      partCounts.insert(parts.count)
      #expect(parts.count > 1, "limit \(limit)")
      for (number, part) in parts.enumerated() {
        #expect(part.utf8.count <= limit, "limit \(limit), part \(number)")
        let partHead = SampleState.text(head, part: (number, parts.count))
        #expect(part.hasPrefix(partHead), "limit \(limit), part \(number)")
        try check(parts, number, limit)
      }
      var ids: [String] = []
      // A section that continues in another part is listed again.
      for id in parts.flatMap({ self.ids(in: $0) }) where !id.hasPrefix("s") || !ids.contains(id) {
        ids.append(id)
      }
      #expect(ids == self.ids(in: whole), "limit \(limit)")
      let data = parts.flatMap { $0.components(of: "\"data\":").dropFirst() }.count
      #expect(data == whole.components(of: "\"data\":").count - 1, "limit \(limit)")
    }
    return partCounts
  }

  private func ids(in value: String) -> [String] {
    value.components(of: "{\"id\":\"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
  }
}
