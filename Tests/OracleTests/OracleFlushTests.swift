import FeedStore
import Oracle
import Testing

struct OracleFlushTests {
  private static let create = #"{"op":"section.upsert","section":"s"}"#

  @Test func `an epoch is named after the record that created the feed`() {
    var one = OneFeed()
    one.apply(Self.create, offset: 4)
    one.apply(nil)
    one.apply(#"{"op":"item.delete","item":"a"}"#, topic: "feeds.sections", offset: 9)
    one.apply(Self.create, topic: "feeds.sections", offset: 12, timestamp: 7)
    let first = one.flush()
    #expect(first?.epoch == "feeds.sections:7/12")
    #expect(first?.through == ["feeds.sections": 12], "of this life only")
    #expect(first?.revision == 1 && first?.base == 0 && first?.time == 7)
    // Deleted and recreated within a window: the same epoch.
    one.apply(#"[{"op":"feed.delete"},{"op":"feed.replace","sections":[]}]"#, offset: 20)
    let second = one.flush()
    #expect(second?.epoch == "feeds.sections:7/12" && second?.revision == 2 && second?.after == OracleFeed())
    #expect(second?.through == ["feeds.items": 20, "feeds.sections": 12])
    // Published as deleted: a new epoch.
    one.apply(nil, offset: 21)
    #expect(one.flush()?.after == nil)
    one.apply(Self.create, offset: 22)
    let third = one.flush()
    #expect(third?.epoch == "feeds.items:0/22" && third?.revision == 1)
    #expect(third?.through == ["feeds.items": 22])
  }

  @Test func `changes that cancel out are not published, but remembered`() {
    var one = OneFeed()
    one.apply(Self.create, offset: 0)
    _ = one.flush()
    one.apply(#"{"op":"item.upsert","item":"a","section":"s"}"#, offset: 5, timestamp: 99)
    one.apply(#"{"op":"item.delete","item":"a"}"#, offset: 6)
    #expect(one.flush() == nil)
    let reload = #"{"op":"section.reload","section":"s"}"#
    #expect(one.apply(reload, offset: 6) == .alreadyApplied)
    one.apply(reload, topic: "feeds.sections", offset: 3)
    let change = one.flush()
    #expect(change?.through == ["feeds.items": 0, "feeds.sections": 3])
    #expect(change?.revision == 2 && change?.time == 0)
    #expect(one.apply(reload, offset: 6) == .alreadyApplied)
    one.oracle.forgetUnpublished()
    #expect(one.apply(reload, offset: 6) == .applied(noOps: []))
    #expect(one.flush()?.through == ["feeds.items": 6, "feeds.sections": 3])
  }

  @Test func `records are not applied again`() {
    var one = OneFeed()
    one.apply(Self.create, offset: 5)
    #expect(one.apply(#"{"op":"item.upsert","item":"a","section":"s"}"#, offset: 5) == .alreadyApplied)
    #expect(one.apply("nonsense", offset: 4) == .alreadyApplied)
    #expect(one.apply("nonsense", offset: 6) == .rejected(OracleRejection(.invalidJSON)))
    #expect(one.apply(nil, offset: 6) == .applied(noOps: []))
    #expect(one.apply(Self.create, offset: 2) == .applied(noOps: []))
    #expect(one.flush()?.through == ["feeds.items": 2])
  }

  @Test func `windows end by time, count and bytes`() {
    func flushes(_ timestamps: [Int], _ change: (inout CoalescingOptions) -> Void = { _ in }) -> [Int] {
      var coalescing = CoalescingOptions()
      change(&coalescing)
      var oracle = Oracle(coalescing: coalescing)
      var counts: [Int] = []
      for (offset, timestamp) in timestamps.enumerated() {
        let record = OracleRecord(
          offset: offset,
          timestamp: timestamp,
          key: bytes("key"),
          value: bytes("nonsense")
        )
        let step = oracle.take(record)
        counts += [step.flushBefore, step.flushAfter].compactMap { $0?.recordCount }
      }
      if let last = oracle.finish() { counts.append(last.recordCount) }
      return counts
    }
    #expect(flushes([0, 50, 99, 100, 40, 199, 200]) { $0.idleWindowMilliseconds = 100 } == [3, 3, 1])
    // The example in docs/protocol.md.
    #expect(flushes([0, 40, 90, 130, 200, 500]) == [1, 2, 2, 1])
    #expect(flushes([5, 5, 4]) { $0.windowMilliseconds = 0 } == [1, 1, 1])
    #expect(flushes([0, 0, 0]) { $0.maxRecords = 2 } == [2, 1])
    #expect(flushes([0, 0, 0]) { $0.maxBytes = 22 } == [2, 1])
    #expect(flushes([0, 0, 0]) { $0.maxBytes = 23 } == [3])
  }

  @Test func `changes are ordered by partition, then by bytes`() {
    var oracle = Oracle()
    for (offset, place) in [(1, "b"), (0, "é"), (0, "z"), (0, "e\u{301}")].enumerated() {
      let key = bytes(place.1)
      _ = oracle.apply(
        OracleRecord(partition: place.0, offset: offset, key: key, value: bytes(Self.create))
      )
    }
    let order = oracle.flush().changes.map { "\($0.key.partition)" + text($0.key.id) }
    #expect(order.map(bytes) == ["0e\u{301}", "0z", "0é", "1b"].map(bytes))
  }
}
