import Testing

@testable import Feed
@testable import FeedChecks

/// Changesets that a replica rejects although the checksum is right.
///
/// The checksum covers only order and kinds, so it would not detect other data.
struct ReplicaRulesTests {
  private typealias Section = (id: String, items: [String])

  private static let sections: [Section] = [("s", ["a", "b", "c"]), ("t", []), ("u", [])]

  private let replicas = ReplicaPartition()

  // MARK: Changesets of feed `f`

  private static func checksum(_ sections: [Section]) -> String {
    let sample = SampleState()
    for section in sections {
      let handle = sample.addSection(section.id)
      for item in section.items { sample.addItem(item, to: handle) }
    }
    return Replica.hexadecimal(sample.state.totals.checksum)
  }

  private static func changeset(
    _ revision: Int,
    base: Int,
    part: String = "",
    mode: String,
    _ lists: String,
    leadingTo result: [Section] = sections
  ) -> String {
    #"{"feed":"f","epoch":"t/0","revision":\#(revision),"base":\#(base)\#(part),"mode":\#(mode),"#
      + #""time":"2026-01-01T00:00:00.000Z","through":{"t":\#(revision)},"checksum":"\#(checksum(result))",\#(lists)}"#
  }

  private static func reload(_ revision: Int, data: Int = 0) -> String {
    let sections = sections.map { section in
      let items = section.items.map { #"{"id":"\#($0)","kind":"","data":\#(data)}"# }.joined(separator: ",")
      return #"{"id":"\#(section.id)","data":null,"items":[\#(items)]}"#
    }.joined(separator: ",")
    return changeset(
      revision,
      base: revision - 1,
      mode: #""reload","reason":"requested""#,
      #""sections":[\#(sections)]"#
    )
  }

  /// A delta that changes the data of an item, which the checksum does not cover.
  private static func patch(_ revision: Int, part: String = "", item: String = "b", index: Int = 1) -> String
  {
    changeset(
      revision,
      base: revision - 1,
      part: part,
      mode: #""reconfigure""#,
      #""items":{"reconfigure":[{"id":"\#(item)","section":"s","index":\#(index),"data":\#(revision)}]}"#
    )
  }

  private static let firstPart = #","part":0,"parts":2"#
  private static let lastPart = #","part":1,"parts":2"#

  // MARK: Applying

  private func apply(
    _ key: String,
    _ value: String,
    to replicas: ReplicaPartition? = nil
  ) throws -> ReplicaOutcome {
    try withSpan(key) { key in
      try withSpan(value) { value in try (replicas ?? self.replicas).apply(key: key, value: value) }
    }
  }

  private func expectApplied(_ outcome: ReplicaOutcome, sourceLocation: SourceLocation = #_sourceLocation) {
    guard case .applied = outcome else {
      Issue.record("not applied: \(outcome)", sourceLocation: sourceLocation)
      return
    }
  }

  /// A replica of revision 1.
  private func begin(_ replicas: ReplicaPartition? = nil) throws -> Replica {
    let replicas = replicas ?? self.replicas
    expectApplied(try apply("k0/f", Self.reload(1), to: replicas))
    return try #require(replicas.replica(of: "f"))
  }

  // MARK: Gaps

  @Test func `a delta over a gap is not applied, nor are those that follow it, until there is a reload`()
    throws
  {
    let replica = try begin()
    let before = replica.snapshot()
    #expect(try apply("d2/f", Self.patch(3)) == .gap(replica: 1, base: 2))
    #expect(try apply("d3/f", Self.patch(4)) == .gap(replica: 1, base: 3))
    #expect(replica.revision == 1 && replica.isStale)
    #expect(replica.snapshot().hasSameContent(as: before))
    expectApplied(try apply("k0/f", Self.reload(5, data: 5)))
    expectApplied(try apply("d1/f", Self.patch(6)))
    #expect(replica.revision == 6 && !replica.isStale)
  }

  // MARK: Checksums

  /// No other object shares its state, which is therefore edited in place and then restored.
  @Test func `after a delta with a wrong checksum a replica is as it was`() throws {
    let replica = try begin()
    let checksum = replica.checksum
    // The checksum of the lists with the item.
    let lists = #""items":{"delete":[{"id":"b","section":"s","index":1}]}"#
    let outcome = try apply("d1/f", Self.changeset(2, base: 1, mode: #""diff""#, lists))
    guard case .mismatch(let fault) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(fault.code == .checksum, "\(fault)")
    replica.checkInvariants()
    #expect(replica.revision == 1 && replica.isStale && replica.checksum == checksum)
  }

  // MARK: Positions

  struct Leaving: Sendable, CustomTestStringConvertible {
    let name: String
    /// `FROM` is replaced by the base position.
    let lists: String
    let from: Int
    let sections: [String]
    let items: [String]

    var testDescription: String { name }
  }

  @Test(arguments: [
    Leaving(
      name: "an item is deleted",
      lists: #""items":{"delete":[{"id":"b","section":"s","index":FROM}]}"#,
      from: 1,
      sections: ["s", "t", "u"],
      items: ["a", "c"]
    ),
    Leaving(
      name: "an item is moved",
      lists:
        #""items":{"move":[{"id":"c","from":{"section":"s","index":FROM},"to":{"section":"s","index":0}}]}"#,
      from: 2,
      sections: ["s", "t", "u"],
      items: ["c", "a", "b"]
    ),
    Leaving(
      name: "a section is deleted",
      lists: #""sections":{"delete":[{"id":"t","index":FROM}]}"#,
      from: 1,
      sections: ["s", "u"],
      items: ["a", "b", "c"]
    ),
    Leaving(
      name: "a section is moved",
      lists: #""sections":{"move":[{"id":"u","from":FROM,"to":0}]}"#,
      from: 2,
      sections: ["u", "s", "t"],
      items: ["a", "b", "c"]
    ),
  ])
  func `only the position that an element has in the base is taken`(leaving: Leaving) throws {
    let result = leaving.sections.map { Section(id: $0, items: $0 == "s" ? leaving.items : []) }
    for from in 0...3 {
      let replicas = ReplicaPartition()
      let replica = try begin(replicas)
      let before = replica.snapshot()
      let lists = leaving.lists.replacing("FROM", with: String(from))
      let delta = Self.changeset(2, base: 1, mode: #""diff""#, lists, leadingTo: result)
      let outcome = try apply("d1/f", delta, to: replicas)
      guard from != leaving.from else {
        expectApplied(outcome)
        guard case .applied(let change) = outcome, let difference = change.difference else { continue }
        var snapshot = before
        try snapshot.apply(difference)
        #expect(snapshot.hasSameContent(as: replica.snapshot()))
        continue
      }
      guard case .mismatch(let fault) = outcome else {
        Issue.record("position \(from): \(outcome)")
        continue
      }
      #expect(fault.code == .position, "\(fault)")
      #expect(replica.revision == 1 && replica.isStale)
      #expect(replica.snapshot().hasSameContent(as: before))
    }
  }

  @Test(arguments: [
    // Inserted in this order, both would be at the result's positions.
    (
      #""items":{"move":[{"id":"c","from":{"section":"s","index":2},"to":{"section":"s","index":1}},"#
        + #"{"id":"b","from":{"section":"s","index":1},"to":{"section":"s","index":1}}]}"#,
      ["s", "t", "u"]
    ),
    (#""sections":{"move":[{"id":"t","from":1,"to":0},{"id":"u","from":2,"to":0}]}"#, ["u", "t", "s"]),
  ])
  func `two elements at one position are refused, although the checksum is right`(
    lists: String,
    sections: [String]
  ) throws {
    let result = sections.map { Section(id: $0, items: $0 == "s" ? ["a", "b", "c"] : []) }
    let replicas = ReplicaPartition()
    let replica = try begin(replicas)
    let before = replica.snapshot()
    let delta = Self.changeset(2, base: 1, mode: #""diff""#, lists, leadingTo: result)
    guard case .mismatch(let fault) = try apply("d1/f", delta, to: replicas) else {
      Issue.record("it was applied")
      return
    }
    #expect(fault.code == .position, "\(fault)")
    #expect(replica.revision == 1 && replica.isStale)
    #expect(replica.snapshot().hasSameContent(as: before))
  }

  @Test func `one position in each of several lists is taken`() throws {
    let lists =
      #""items":{"move":["#
      + #"{"id":"a","from":{"section":"s","index":0},"to":{"section":"t","index":0}},"#
      + #"{"id":"b","from":{"section":"s","index":1},"to":{"section":"u","index":0}}]}"#
    let result = [
      Section(id: "s", items: ["c"]), Section(id: "t", items: ["a"]), Section(id: "u", items: ["b"]),
    ]
    let replicas = ReplicaPartition()
    _ = try begin(replicas)
    let delta = Self.changeset(2, base: 1, mode: #""diff""#, lists, leadingTo: result)
    expectApplied(try apply("d1/f", delta, to: replicas))
  }

  // MARK: Parts

  private static let firstOfReload = changeset(
    1,
    base: 0,
    part: firstPart,
    mode: #""reload","reason":"requested""#,
    #""sections":[{"id":"s","data":null,"items":[{"id":"a","kind":"","data":1}]}]"#
  )
  private static let lastOfReload = changeset(
    1,
    base: 0,
    part: lastPart,
    mode: #""reload","reason":"requested""#,
    #""sections":[{"id":"s","items":[{"id":"b","kind":"","data":1},{"id":"c","kind":"","data":1}]},"#
      + #"{"id":"t","data":null},{"id":"u","data":null}]"#
  )

  @Test func `parts of one changeset are joined`() throws {
    #expect(try apply("k0/f", Self.firstOfReload) == .waitingForParts(received: 1, of: 2))
    expectApplied(try apply("k1/f", Self.lastOfReload))
    #expect(
      try apply("d1/f", Self.patch(2, part: Self.firstPart, item: "a", index: 0))
        == .waitingForParts(received: 1, of: 2)
    )
    expectApplied(try apply("d2/f", Self.patch(2, part: Self.lastPart)))
  }

  @Test(arguments: [
    (#""revision":1,"base":0"#, #""revision":2,"base":1"#), (#""epoch":"t/0""#, #""epoch":"t/1""#),
    (#""reason":"requested""#, #""reason":"bytes""#), (#""parts":2"#, #""parts":3"#),
    (#""part":1,"parts":2"#, #""part":2,"parts":3"#),
  ])
  func `a part of another reload is not joined`(old: String, new: String) throws {
    #expect(Self.lastOfReload.contains(old))
    #expect(try apply("k0/f", Self.firstOfReload) == .waitingForParts(received: 1, of: 2))
    let key = new.contains(#""part":2"#) ? "k2/f" : "k1/f"
    #expect(try apply(key, Self.lastOfReload.replacing(old, with: new)) == .gap(replica: nil, base: 0))
    #expect(replicas.replicas.isEmpty)
    #expect(replicas.staleReason(of: ByteText("f")) != nil)
  }

  @Test(arguments: [
    (#""revision":2"#, #""revision":3"#), (#""mode":"reconfigure""#, #""mode":"diff""#),
    (#""parts":2"#, #""parts":3"#),
  ])
  func `a part of another difference is not joined`(old: String, new: String) throws {
    let replica = try begin()
    let before = replica.snapshot()
    let last = Self.patch(2, part: Self.lastPart)
    #expect(last.contains(old))
    #expect(
      try apply("d1/f", Self.patch(2, part: Self.firstPart, item: "a", index: 0))
        == .waitingForParts(received: 1, of: 2)
    )
    #expect(try apply("d2/f", last.replacing(old, with: new)) == .gap(replica: 1, base: 1))
    #expect(replica.revision == 1 && replica.isStale)
    #expect(replica.snapshot().hasSameContent(as: before))
  }

  // MARK: Handing out

  @Test(arguments: [
    (["d1/f", "d2/f"], patch(2, part: firstPart, item: "a", index: 0), patch(2, part: lastPart)),
    (
      ["k0/f", "k1/f"], firstOfReload.replacing(#""revision":1"#, with: #""revision":2"#),
      lastOfReload.replacing(#""revision":1"#, with: #""revision":2"#)
    ),
  ])
  func `a feed that misses a part of its newest changeset is not handed out`(
    keys: [String],
    first: String,
    last: String
  ) throws {
    _ = try begin()
    #expect(try apply(keys[0], first) == .waitingForParts(received: 1, of: 2))
    let fault = #expect(throws: ReplicaFault.self) { try replicas.takeFeeds() }
    #expect(fault?.code == .incomplete && fault?.feed == "f")
    #expect(fault?.message.contains("1 of the 2 parts of revision 2") == true)
    // No data was lost: once the part has arrived, the feed is returned.
    expectApplied(try apply(keys[1], last))
    #expect(try replicas.takeFeeds().count == 1)
  }
}
