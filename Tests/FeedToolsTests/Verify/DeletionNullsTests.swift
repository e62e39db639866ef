import ChangesetTestSupport
import Feed
import FeedStore
import Oracle
import Testing

/// The nulls after a deletion whose own key is not the largest of the epoch.
@Suite struct DeletionNullsTests {
  private static let options: FeedStoreOptions = {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 0
    options.keyframe.maxDeltas = 5
    options.keyframe.maxBytesRatio = 1000
    return options
  }()

  /// The feed, d1 to d5 followed by a keyframe, d1 again, and the deletion as d2.
  private static let values =
    [#"{"op":"feed.replace","sections":[{"id":"s","items":["a"]}]}"#]
    + (1...6).map { #"{"op":"item.patch","item":"a","data":\#($0)}"# } + [#"{"op":"feed.delete"}"#]

  private func replay() async throws -> VerifiedReplay {
    let lines = Self.values.enumerated().map { #"{"ts":\#($0),"key":"f","value":\#($1)}"# }
    return try await VerifiedReplay(lines, Self.options)
  }

  @Test func `the nulls come in the order of their numbers, with the deletion's own at its place`()
    async throws
  {
    let replay = try await replay()
    let records = try replay.lines.map { try JudgedRecord(replayLine: Array($0.utf8)) }
    let keys = records.map { String(decoding: $0.key, as: UTF8.self) }
    #expect(keys.prefix(7) == ["k0/f", "d1/f", "d2/f", "d3/f", "d4/f", "d5/f", "k0/f"])
    #expect(keys.dropFirst(7).prefix(2) == ["d1/f", "d2/f"])
    #expect(keys.dropFirst(9) == ["k0/f", "d1/f", "d2/f", "d3/f", "d4/f", "d5/f"])
    #expect(records.dropFirst(9).allSatisfy { $0.value == nil })
    #expect(try await replay.verify(replay.lines).told == [])

    var coalescing = CoalescingOptions()
    coalescing.windowMilliseconds = 0
    var oracle = Oracle(coalescing: coalescing)
    var judge = ChangesetJudge(keyframes: Self.options.keyframe)
    var expected: [JudgedRecord] = []
    for (number, value) in Self.values.enumerated() {
      let step = oracle.take(
        OracleRecord(offset: number, timestamp: number, key: Array("f".utf8), value: Array(value.utf8))
      )
      for flush in [step.flushBefore, step.flushAfter].compactMap({ $0 }) {
        expected += judge.expectedRecords(flush)
      }
    }
    if let flush = oracle.finish() { expected += judge.expectedRecords(flush) }
    #expect(expected == records)
  }

  @Test func `a deletion's own null at the end is a fault`() async throws {
    let replay = try await replay()
    var lines = replay.lines
    // d2 after d5.
    lines.append(lines.remove(at: 11))
    let told = try await replay.verify(VerifiedReplay.renumbered(lines)).told
    #expect(told.count == 1)
    #expect(
      told.first?.contains(#"expected a null under "d2/f", as the feed was deleted"#) == true,
      "\(told)"
    )
  }
}
