import Feed
import FeedChecks

@testable import Oracle

extension FuzzTarget {
  /// An item's data, a line feed, and a patch.
  ///
  /// - The result equals the oracle's.
  static let mergePatch = FuzzTarget(
    "merge-patch",
    tokens: [
      "\"a\":", "\"b\":", "\"\\u0061\":", "\"\":", "{\"a\":{\"b\":", "null", "{}", "[]", "[null]", "1.0",
      "\"x\"",
      "\"a\":null", "},{", "}}}}",
    ],
    generate: { random in
      var speller = Speller(seed: random.next(), isPlain: random.chance(50))
      let values = [speller.data(depth: 5), speller.data(depth: 5)].map { $0.filter { !$0.isNewline } }
      return Array(values.joined(separator: "\n").utf8)
    },
    check: { input throws(FuzzFailure) in
      guard let end = input.firstIndex(of: 0x0A) else { return }
      guard let target = try? OracleJSON.parse(Array(input[..<end]), maxDepth: 100),
        let patch = try? OracleJSON.parse(Array(input[(end + 1)...]), maxDepth: 100)
      else { return }
      let decoder = RecordDecoder(limits: Limits())
      let feed = Array("f".utf8).withOwnSpan { PublishedFeed(id: $0) }
      try apply(
        "{\"op\":\"item.upsert\",\"item\":\"i\",\"section\":\"s\",\"data\":",
        target.minified,
        to: feed,
        decoder,
        0
      )
      try apply("{\"op\":\"item.patch\",\"item\":\"i\",\"data\":", patch.minified, to: feed, decoder, 1)
      feed.checkInvariants()
      let found = feed.snapshot().data(ofItem: "i")?.description ?? "nothing"
      let expected = OracleMergePatch.merge(patch, into: target)
      try expect(
        Array(found.utf8) == expected,
        "\(target.minified.text) with \(patch.minified.text) is \(found), expected \(expected.text)"
      )
    }
  )

  private static func apply(
    _ beginning: String,
    _ data: [UInt8],
    to feed: PublishedFeed,
    _ decoder: RecordDecoder,
    _ offset: Int64
  ) throws(FuzzFailure) {
    let value = Array(beginning.utf8) + data + Array("}".utf8)
    do throws(Rejection) {
      try value.withOwnSpan { value throws(Rejection) in
        try feed.id.buffer.map { $0 }.withOwnSpan { key throws(Rejection) in
          try decoder.decode(key: key, value: value)
          let position = RecordPosition(topic: Array("t".utf8), offset: offset, timestamp: 0)
          try feed.apply(decoder, at: position) { _ in }
        }
      }
    } catch {
      throw FuzzFailure("\(value.text) is rejected: \(error.message)")
    }
  }
}
