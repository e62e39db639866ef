import ChangesetTestSupport
import Testing

/// The keys under which a feed is published.
struct PublishedKeysTests {
  private func keys(_ records: [ChangesetSource.Record]) -> [String] {
    records.map { String(decoding: $0.key, as: UTF8.self) }
  }

  @Test func `after maxDeltas large deltas a keyframe follows at once, and the count restarts`()
    async throws
  {
    let source = ChangesetSource(maxDeltas: 3)
    #expect(keys(try await source.flush(("f", ChangesetSource.item("a")))) == ["k0/f"])
    var published: [[String]] = []
    for number in 1...7 {
      // Every third delta is short; the others have many times the bytes of the previous reload.
      let size = number.isMultiple(of: 3) ? 0 : 2_000
      published.append(keys(try await source.flush(("f", ChangesetSource.item("a", number, size: size)))))
    }
    #expect(published[..<3] == [["d1/f"], ["d2/f"], ["d3/f", "k0/f"]])
    #expect(published[3...] == [["d1/f"], ["d2/f"], ["d3/f", "k0/f"], ["d1/f"]])
  }

  @Test(arguments: 1...4) func `a reload with fewer parts is followed by nulls for the remaining keys`(
    parts: Int
  ) async throws {
    func reload(parts: Int) -> String {
      let data = String(repeating: "x", count: 700)
      let items = (0..<parts).map { #"{"id":"\#($0)","data":"\#(data)"}"# }.joined(separator: ",")
      return #"[{"op":"feed.replace","sections":[{"id":"s","items":[\#(items)]}]},{"op":"feed.reload"}]"#
    }
    // One of these items fits into a part, two do not.
    let source = ChangesetSource(maxMessageBytes: 1_200)
    let all = ["k0/f", "k1/f", "k2/f", "k3/f"]
    #expect(keys(try await source.flush(("f", reload(parts: 4)))) == all)
    let records = try await source.flush(("f", reload(parts: parts)))
    #expect(keys(records) == all)
    #expect(records.map { $0.value == nil } == (0..<4).map { $0 >= parts })
  }
}
