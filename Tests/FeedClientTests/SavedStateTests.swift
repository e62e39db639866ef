import ChangesetTestSupport
import Feed
import FeedTestSupport
import Testing

@testable import FeedClient

/// Saving a board, and starting another one from the saved state.
struct SavedStateTests {
  private static let topic = "feeds.changesets"
  private static let expected = StateLoader.Expectation(
    topic: topic,
    cluster: "here",
    partitionCount: 1,
    feeds: nil
  )
  private let file: TemporaryFile

  init() throws { file = try TemporaryFile() }

  // MARK: Following

  private func board(keeping feeds: Set<ByteText>? = nil) -> FeedBoard {
    let board = FeedBoard(partitions: nil, keeping: feeds)
    _ = board.takeRequest()
    board.noteCluster("here")
    return board
  }

  private func begun(
    _ loaded: [Int32: LoadedPartition] = [:],
    keeping feeds: Set<ByteText>? = nil
  ) -> FeedBoard {
    let board = board(keeping: feeds)
    board.open([0], beginnings: [0: 0], loaded: loaded)
    return board
  }

  @discardableResult
  private func save(_ board: FeedBoard) throws -> Bool {
    try StateSaver(board: board, topic: Self.topic).save(to: file.path)
  }

  private func load(
    _ expected: StateLoader.Expectation = expected,
    partitions: Set<Int32> = [0]
  ) throws -> [Int32: LoadedPartition] {
    try #require(try StateLoader.load(file.path, partitions: partitions, expected))
  }

  /// Saves a board, and starts another one from it.
  private func restarted(_ board: FeedBoard) throws -> FeedBoard {
    try save(board)
    return begun(try load())
  }

  /// Everything that is known of the feeds, as text.
  private func known(_ board: FeedBoard, withKeys: Bool = true) -> [String] {
    let lost = board.withState { state -> [String] in
      let partition = state.partitions[0]
      return (partition?.feeds ?? []).compactMap { feed in
        partition?.reasonForLoss(of: feed).map { "\(feed.string.debugDescription) lost: \($0)" }
      }
    }
    return board.collect(\.contents).map { content in
      let version = content.description.version
      let document = String(decoding: content.reloadDocument(), as: UTF8.self)
      let keys =
        "\(version.deltaCount), \(version.deltaBytes), \(version.highestDelta), "
        + "\(version.reloadBytes), \(version.reloadParts)"
      return document + " \(content.description.standing)" + (withKeys ? " keys \(keys)" : "")
    } + lost.sorted()
  }

  /// Reports only the names of feeds that differ.
  private func expectSame(_ found: [String], _ expected: [String], _ place: String) {
    let difference = found.difference(from: expected).map { change in
      switch change {
      case .insert(_, let text, _): "found " + text
      case .remove(_, let text, _): "expected " + text
      }
    }
    #expect(difference.isEmpty, "\(place): \(difference.joined(separator: "\n"))")
  }

  private static let seeds = 1...12 as ClosedRange<UInt64>

  @Test(arguments: seeds)
  func `a follower that restarts from a saved state has what one has that never stopped`(
    seed: UInt64
  ) async throws {
    let log = try await ChangesetLog.random(seed, flushes: 120)
    var random = SplitMix64(seed: seed)
    let steady = begun()
    var other = begun()
    var taken: Int64 = 0
    var inParts = 0
    while taken < log.end {
      let next = min(log.end, taken + Int64(random.below(40)))
      steady.take(log.entries(from: taken, to: next))
      taken = next
      // Sometimes it is saved again before it has caught up.
      let goal = random.chance(30) ? min(taken, (other.positions[0] ?? 0) + Int64(random.below(3))) : taken
      other.take(log.entries(from: other.positions[0] ?? 0, to: goal))
      other = try restarted(other)
      inParts += other.positions[0] == taken ? 0 : 1
      if random.chance(50) {
        other.take(log.entries(from: other.positions[0] ?? 0, to: taken))
        expectSame(known(other), known(steady), "seed \(seed), offset \(taken)")
      }
    }
    #expect(inParts > 0, "seed \(seed): a changeset was saved in part")
    other.take(log.entries(from: other.positions[0] ?? 0))
    for board in [steady, other] { board.endPartition() }
    expectSame(known(other), known(steady), "seed \(seed)")
    #expect(other.partitionDescriptions.allSatisfy { $0.standing != .bootstrapping })
  }

  @Test func `compaction while no follower runs loses nothing`() async throws {
    var (inParts, lost) = (0, 0)
    for seed in Self.seeds {
      let log = try await ChangesetLog.random(seed, flushes: 80)
      var random = SplitMix64(seed: seed)
      func cut() -> Int64 { Int64(random.below(Int(log.end) + 1)) }
      let steady = begun()
      steady.take(log.entries)
      steady.endPartition()
      for _ in 0..<30 {
        let first = begun()
        let saved = cut()
        first.take(log.compacted(upTo: cut(), dropsNullsBefore: saved).entries(from: 0, to: saved))
        let second = try restarted(first)
        let capture = try #require(second.capture(0))
        inParts += capture.partition.behind.isEmpty ? 0 : 1
        lost += capture.lost.isEmpty && capture.feeds.allSatisfy { $0.lost == nil } ? 0 : 1
        let rest = log.compacted(upTo: cut(), dropsNullsBefore: saved)
        second.take(rest.entries(from: capture.partition.firstOffset))
        second.endPartition()
        expectSame(
          known(second, withKeys: false),
          known(steady, withKeys: false),
          "seed \(seed), saved at \(saved)"
        )
      }
    }
    #expect(inParts > 20 && lost > 20, "what is to be tested came: \(inParts), \(lost)")
  }

  @Test func `only a feed in the middle of a changeset is read again`() async throws {
    let source = ChangesetSource(maxMessageBytes: 1_000)
    let many = "[" + (0..<40).map { ChangesetSource.item("i\($0)", size: 50) }.joined(separator: ",") + "]"
    let parts = try await source.flush(("a", many))
    let other = try await source.flush(("b", ChangesetSource.item("x")))
    _ = try await source.flush(("b", ChangesetSource.item("y")))
    let gap = try await source.flush(("b", ChangesetSource.item("z")))
    let board = begun()
    board.take(parts.prefix(2) + other)
    let next = try restarted(board)
    #expect(next.positions == [0: 0])
    // If it was read, the unexpected record would lose the feed.
    next.take(parts.prefix(2) + gap)
    #expect(next.positions == [0: 3])
    next.take(parts.dropFirst(2))
    next.endPartition()
    #expect(next.collect { $0.descriptions }.map(\.standing) == [.upToDate, .upToDate])
    #expect(next.content(of: ByteText("a"))?.snapshot.numberOfItems == 40)
  }

  @Test func `a lost feed stays lost until its reload arrives`() async throws {
    let source = ChangesetSource()
    let board = begun()
    board.take(
      try await source.flush(
        ("a", ChangesetSource.item("x")),
        ("b", ChangesetSource.item("x")),
        ("c", ChangesetSource.item("x"))
      ).prefix(2)
    )
    _ = try await source.flush(("a", ChangesetSource.item("y")))
    board.take(try await source.flush(("a", ChangesetSource.item("z")), ("c", ChangesetSource.item("z"))))
    board.endPartition()
    let next = try restarted(board)
    next.endPartition()
    #expect(known(next) == known(board))
    var iterator = next.updates().makeAsyncIterator()
    var told: [String] = []
    for _ in 0..<3 { told.append(try #require(try await iterator.next()).summary) }
    #expect(told.sorted() == ["a must refetch", "b present 1", "c must refetch"])
    next.take(try await source.flush(("a", ChangesetSource.item("z", 1))))
    #expect(next.collect { $0.descriptions }.map(\.standing) == [.mustRefetch, .catchingUp])
    let reload = "{\"op\":\"feed.reload\"}"
    next.take(try await source.flush(("a", reload), ("c", reload)))
    #expect(next.collect { $0.descriptions }.map(\.standing) == [.catchingUp, .catchingUp, .catchingUp])
  }

  @Test func `a history continues from the saved state`() async throws {
    let source = ChangesetSource()
    let first = begun()
    first.take(try await source.flush(("a", ChangesetSource.item("x"))))
    first.take(try await source.flush(("a", ChangesetSource.item("y"))))
    try save(first)
    let board = board()
    var iterator = board.updates(of: nil, SubscriptionOptions(beginsWithHistory: true)).makeAsyncIterator()
    board.open([0], beginnings: [0: 0], loaded: try load())
    #expect(try await iterator.next()?.summary == "a present 2")
    board.take(try await source.flush(("a", ChangesetSource.item("z"))))
    let update = try await iterator.next()
    #expect(update?.summary == "a diff 3")
    #expect(update?.snapshot?.itemIdentifiers == ["x", "y", "z"])
  }

  // MARK: What is saved

  @Test func `records after a saved state are dated by the last time at which all were read`() async throws {
    let source = ChangesetSource()
    let board = board()
    func asOf() throws -> Int64? {
      try save(board)
      return try load()[0]?.saved.asOf
    }
    #expect(try save(board) == false)
    #expect(try file.names.isEmpty)
    board.noteIdle(at: 1_000)
    board.open([0], beginnings: [0: 0])
    board.noteIdle(at: 2_000)
    // There was no such time, so it is as old as the start.
    #expect(try asOf() == 1_000)
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    #expect(try asOf() == 2_000)
    board.noteIdle(at: 3_000)
    #expect(try asOf() == 3_000)
    board.take(try await source.flush(("a", ChangesetSource.item("y"))))
    board.noteIdle(at: 4_000)
    #expect(try asOf() == 3_000)
    let next = try restarted(board)
    next.noteIdle(at: 5_000)
    #expect(next.capture(0)?.partition.asOf == 3_000)
    next.endPartition()
    #expect(next.capture(0)?.partition.asOf == 5_000)
    #expect(try file.names == ["state"])
  }

  @Test func `only followed feeds are decoded, kept and saved`() async throws {
    let source = ChangesetSource()
    let records = try await source.flush(
      ("a", ChangesetSource.item("x")),
      ("e\u{301}", ChangesetSource.item("x")),
      ("\u{E9}", ChangesetSource.item("y"))
    )
    let kept: Set<ByteText> = [ByteText("a"), ByteText("\u{E9}")]
    let some = begun(keeping: kept)
    some.take(records)
    // It is not even decoded.
    some.take([ChangesetSource.Record(key: Array("k0/other".utf8), value: Array("no JSON".utf8))])
    #expect(some.collect { $0.contents }.map(\.description.feed.utf8.count) == [1, 2])
    #expect(some.content(of: ByteText("\u{E9}"))?.snapshot.itemIdentifiers == ["y"])
    var iterator = some.updates(of: ["e\u{301}"]).makeAsyncIterator()
    some.endPartition()
    #expect(try await iterator.next()?.summary == "e\u{301} absent")

    try save(some)
    var expected = Self.expected
    // The file does not have the other feeds, so it cannot be used for them.
    for feeds in [nil, [ByteText("a"), ByteText("b")], [ByteText("e\u{301}")]] as [Set<ByteText>?] {
      expected.feeds = feeds
      #expect(throws: SavedStateFault.self) { _ = try load(expected) }
    }
    expected.feeds = [ByteText("\u{E9}")]
    #expect(try load(expected)[0]?.replicas.replicas.map(\.feed.utf8.count) == [2])

    let all = begun()
    all.take(records)
    try save(all)
    #expect(try load(expected)[0]?.replicas.replicas.map(\.feed.utf8.count) == [2])
  }

  @Test func `only requested partitions are loaded`() async throws {
    let board = board()
    board.open([0, 1, 2], beginnings: [0: 0, 1: 10, 2: 20])
    board.take(try await ChangesetSource().flush(("a", ChangesetSource.item("x"))))
    try save(board)
    var expected = Self.expected
    expected.partitionCount = 3
    let loaded = try load(expected, partitions: [1, 2, 7])
    #expect(loaded.mapValues(\.saved.position) == [1: 10, 2: 20])
    #expect(try load(expected, partitions: [0])[0]?.replicas.replicas.map(\.feed) == ["a"])
  }

  // MARK: What is refused

  private func refusal(_ expected: StateLoader.Expectation = expected) -> String? {
    do {
      _ = try StateLoader.load(file.path, partitions: [0], expected)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `a missing file is no state, and not an error`() throws {
    #expect(try StateLoader.load(file.path, partitions: [0], Self.expected) == nil)
  }

  @Test func `a damaged file is refused, wherever the damage is`() async throws {
    let seed: UInt64 = 77
    let log = try await ChangesetLog.random(seed, flushes: 30)
    let board = begun()
    board.take(log.entries)
    try save(board)
    let bytes = try file.bytes
    #expect(refusal() == nil)
    for cut in Set(0..<200).union(stride(from: 0, to: bytes.count - 1, by: 37)).union(
      bytes.count - 200..<bytes.count - 1
    )
    where cut < bytes.count - 1 {
      try file.write(bytes.prefix(cut))
      #expect(refusal() != nil, "cut at \(cut)")
    }
    var random = SplitMix64(seed: seed)
    for _ in 0..<3_000 {
      var damaged = bytes
      let place = random.below(bytes.count)
      damaged[place] ^= 1 << UInt8(random.below(8))
      try file.write(damaged)
      #expect(refusal() != nil, "seed \(seed), byte \(place) is \(damaged[place])")
    }
    // Damage to whole lines.
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    for index in lines.indices.dropLast() {
      var damaged = lines
      damaged.remove(at: index)
      try file.write(damaged.joined(separator: [0x0A]))
      #expect(refusal() != nil, "without line \(index)")
      damaged = lines
      damaged.insert(lines[index], at: index)
      try file.write(damaged.joined(separator: [0x0A]))
      #expect(refusal() != nil, "with line \(index) twice")
      damaged = lines
      damaged.swapAt(index, (index + 1) % (lines.count - 1))
      try file.write(damaged.joined(separator: [0x0A]))
      #expect(refusal() != nil, "lines \(index) and the next swapped")
    }
    for text in [
      "", "\n", "{}\n", "[]\n", "null", "{\"format\":\"feedstore.replicas\"}\n",
      "{\"lines\":0,\"checksum\":\"0000000000000000\"}",
    ] {
      try file.write(text.utf8)
      #expect(refusal() != nil, "\(text)")
    }
  }

  @Test func `a state of another topic, cluster or feed is refused with the reason`() async throws {
    let board = board()
    board.open([0, 1], beginnings: [0: 0, 1: 0])
    board.take(try await ChangesetSource().flush(("a", ChangesetSource.item("x"))))
    try save(board)
    var expected = Self.expected
    expected.partitionCount = 2
    #expect(refusal(expected) == nil)
    expected.topic = "others"
    #expect(refusal(expected) == "it belongs to topic feeds.changesets")
    expected = Self.expected
    #expect(refusal(expected)?.contains("it has partition 1, and the topic has 1 now") == true)
    expected.partitionCount = 3
    #expect(refusal(expected) == nil)
    expected.cluster = "there"
    #expect(refusal(expected) == "it belongs to cluster here, and this is there")
    expected.cluster = nil
    #expect(refusal(expected) == nil)
    let text = String(decoding: try file.bytes, as: UTF8.self)
    try file.write(text.replacing("\"version\":1", with: "\"version\":2").utf8)
    #expect(refusal(expected) == "line 1 names version 2 of the format; this is version 1")
    try file.write(text.replacing("feedstore.replicas", with: "feedstore.others").utf8)
    #expect(refusal(expected) == "line 1 is not the header of a saved state")
  }

  @Test func `a state that is not part of the current topic, or too old, is refused`() {
    func partition(behind: [ByteText: Int64] = [:]) -> LoadedPartition {
      LoadedPartition(SavedPartition(number: 3, position: 50, behind: behind, asOf: 1_000_000))
    }
    func isRefused(_ low: Int64, _ high: Int64, behind: [ByteText: Int64] = [:]) -> Bool {
      do {
        try partition(behind: behind).check(low: low, high: high)
        return false
      } catch {
        return true
      }
    }
    #expect(!isRefused(0, 50) && !isRefused(50, 50) && !isRefused(50, 90))
    #expect(isRefused(0, 49) && isRefused(51, 90) && isRefused(51, 51))
    #expect(!isRefused(40, 50, behind: [ByteText("a"): 40]))
    #expect(isRefused(41, 50, behind: [ByteText("a"): 40, ByteText("b"): 45]))

    func isTooOld(_ now: Int64) -> Bool {
      do {
        try partition().check(maximumAgeMilliseconds: 500, now: now)
        return false
      } catch {
        return true
      }
    }
    #expect(!isTooOld(1_000_000) && !isTooOld(1_000_500) && !isTooOld(940_000))
    #expect(isTooOld(1_000_501) && isTooOld(939_999))
  }
}

extension FeedBoard {
  /// Applies records to partition 0, as the reader does.
  fileprivate func take(_ entries: [ChangesetLog.Entry]) {
    for entry in entries {
      entry.record.key.withUnsafeBytes { key in
        if let value = entry.record.value {
          _ = value.withUnsafeBytes { take(0, offset: entry.offset, key: ByteSpan(key), value: ByteSpan($0)) }
        } else {
          _ = take(0, offset: entry.offset, key: ByteSpan(key), value: nil)
        }
      }
    }
  }
}
