import FeedTestSupport
import Oracle
import Testing

@testable import Feed

/// All readers of JSON support `limits.maxDepth`, and more, on a thread with a small stack.
@Suite struct DeepNestingTests {
  private static let depth = 10_000

  /// A value nested that deep, of each kind.
  private static let values = [
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth),
    nested("a", "1"),
    String(repeating: "[ {\"a\" :", count: depth / 2) + "null" + String(repeating: "} ]", count: depth / 2),
  ]

  private static func nested(_ name: String, _ value: String, depth: Int = depth) -> String {
    String(repeating: "{\"\(name)\":", count: depth) + value + String(repeating: "}", count: depth)
  }

  private var limits: Limits {
    var limits = Limits()
    limits.maxDepth = Self.depth + 10
    return limits
  }

  @Test(arguments: values)
  func `a text is validated, measured and copied without white space`(value: String) throws {
    let found = try SmallStack.run {
      withSpan(Array(value.utf8)) { JSONVerdict($0, JSONIndexer()) }
    }
    #expect(found == .json(depth: Self.depth, compact: Array(value.utf8).filter { $0 != 0x20 }))
  }

  @Test(arguments: values)
  func `a text that ends too early is refused`(value: String) throws {
    let cut = Array(value.utf8.prefix(value.utf8.count / 2))
    #expect(try SmallStack.run { withSpan(cut) { JSONVerdict($0, JSONIndexer()) } } == .invalidJSON)
  }

  @Test(arguments: values)
  func `a record is decoded, and applied to a feed`(value: String) throws {
    let upsert = #"{"op":"item.upsert","item":"i","section":"s","data":\#(value),"other":\#(value)}"#
    let compact = value.filter { $0 != " " }
    #expect(try data(after: [upsert]) == compact)
    let patched = Self.nested("b", "[2]")
    let patch = #"{"op":"item.patch","item":"i","data":\#(patched)}"#
    let expected = compact.hasPrefix("{") ? compact.dropLast() + "," + patched.dropFirst() : patched
    #expect(try data(after: [upsert, patch]) == expected)
  }

  @Test func `a patch changes what is inside, and takes it away again`() throws {
    let upsert = #"{"op":"item.upsert","item":"i","section":"s","data":\#(Self.nested("a", "1"))}"#
    let patches = [#"\u0061"#, "a"].map {
      #"{"op":"item.patch","item":"i","data":\#(Self.nested($0, "null"))}"#
    }
    let emptied = Self.nested(#"\u0061"#, "{}", depth: Self.depth - 1)
    #expect(try data(after: [upsert, patches[0]]) == emptied)
    #expect(try data(after: [upsert, patches[0], patches[1]]) == emptied)
    let change = #"{"op":"item.patch","item":"i","data":\#(Self.nested(#"\u0061"#, "2"))}"#
    #expect(try data(after: [upsert, change]) == Self.nested(#"\u0061"#, "2"))
  }

  /// The item's data after records with these values.
  private func data(after values: [String]) throws -> String? {
    let limits = limits
    return try SmallStack.run {
      let feed = PublishedFeed(id: ByteSpan("f" as StaticString))
      let decoder = RecordDecoder(limits: limits)
      for (offset, value) in values.enumerated() {
        try withSpan(value) { value in
          try decoder.decode(key: ByteSpan("f" as StaticString), value: value)
          let position = RecordPosition(topic: [0x74], offset: Int64(offset), timestamp: 0)
          try feed.apply(decoder, at: position) { _ in }
        }
      }
      guard let item = feed.state.items.findPresent(ByteSpan("i" as StaticString)) else { return nil }
      return feed.state.items[item].data.text
    }
  }

  @Test func `what is too deep is rejected for that`() throws {
    let decoder = RecordDecoder(limits: limits)
    let value = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
    let rejection = #expect(throws: Rejection.self) {
      try SmallStack.run {
        try withSpan(value) { try decoder.decode(key: ByteSpan("f" as StaticString), value: $0) }
      }
    }
    #expect(rejection?.code == .limitExceeded)
  }

  @Test(arguments: values)
  func `a replay line is parsed`(value: String) throws {
    let line = #"{"key":"f","headers":null,"other":\#(value),"value":\#(value)}"#
    let length = try SmallStack.run {
      let parser = ReplayLineParser()
      // Parsed values are read from the parser's memory.
      defer { withExtendedLifetime(parser) {} }
      return try withSpan(line) { line -> Int? in
        guard case .json(let text, let first, let end)? = try parser.parse(line)?.value else { return nil }
        return text.takeUnretainedValue().span(from: first, to: end).count
      }
    }
    #expect(length == value.utf8.count)
    for field in ["topic", "headers", "key", "payload", "ts"] {
      let line = #"{"value":1,"\#(field)":\#(value)}"#
      #expect(throws: ReplayLineError.self) {
        try SmallStack.run { try withSpan(line) { _ = try ReplayLineParser().parse($0) } }
      }
    }
  }

  // MARK: Changesets

  private func changeset(_ changes: [String: String]) -> String {
    var fields = [
      ("feed", "\"f\""), ("epoch", "\"t/0\""), ("revision", "1"), ("base", "0"), ("mode", "\"reload\""),
      ("reason", "\"initial\""), ("time", "\"2026-01-01T00:00:00.000Z\""), ("through", "{\"t\":0}"),
      ("checksum", "\"\(Self.checksumOfSection)\""),
    ]
    for (name, value) in changes {
      fields.removeAll { $0.0 == name }
      fields.append((name, value))
    }
    return "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
  }

  /// For a feed with only the section `s`.
  private static let checksumOfSection = OracleChecksum.text(
    OracleChecksum.of(OracleFeed(sections: [OracleSection(id: Array("s".utf8))]))
  )

  @Test(arguments: values)
  func `a replica takes a changeset, and its snapshot is written`(value: String) throws {
    let record = changeset(["sections": #"[{"id":"s","data":\#(value),"x":\#(value)}]"#, "unknown": value])
    let written = try SmallStack.run { () -> String in
      let replicas = ReplicaPartition()
      let outcome = try withSpan(record) {
        try replicas.apply(key: ByteSpan("k0/f" as StaticString), value: $0)
      }
      guard case .applied = outcome else { return "\(outcome)" }
      guard let replica = replicas.replica(of: "f"), let version = replicas.version(of: "f") else {
        return ""
      }
      let reload = replica.snapshot().reload(of: "f", version: version, timeMilliseconds: 0)
      return String(decoding: reload, as: UTF8.self)
    }
    #expect(written.contains(value.filter { $0 != " " }))
  }

  @Test(arguments: values)
  func `foreign nesting anywhere in a changeset is a fault, or nothing`(value: String) throws {
    let fields = [
      "feed", "epoch", "revision", "base", "part", "parts", "mode", "reason", "time", "through", "checksum",
      "sections", "items", "unknown",
    ]
    for field in fields {
      for key in ["k0/f", "d1/f"] {
        let record = changeset([field: value])
        let wasTaken = try SmallStack.run { () -> Bool in
          let replicas = ReplicaPartition()
          let outcome = try? withSpan(record) { record in
            try withSpan(key) { try replicas.apply(key: $0, value: record) }
          }
          if case .applied = outcome { return true }
          return false
        }
        // An ignored field of a reload.
        #expect(!wasTaken || field == "unknown" || field == "items", "\(field)")
      }
    }
  }
}
