import Feed
import Oracle
import Testing

struct ChangesetJudgeTests {
  private static let key = OracleFeedKey(partition: 3, id: bytes("h/n"))

  private func change(
    _ before: OracleFeed?,
    _ after: OracleFeed?,
    revision: Int = 7,
    forced: OracleForced = OracleForced(),
    placements: OraclePlacements = OraclePlacements()
  ) -> OracleFlush {
    let change = OracleChange(
      key: Self.key,
      epoch: "feeds.sections/3",
      revision: revision,
      base: revision - 1,
      time: 1_795_168_800_250,
      through: ["feeds.sections": 12, "feeds.items": 1234],
      before: before,
      after: after,
      forced: forced,
      placements: placements
    )
    return OracleFlush(changes: [change])
  }

  private func head(_ revision: Int, _ mode: String, part: String = "", base: Int? = nil) -> String {
    """
    {"feed":"h/n","epoch":"feeds.sections/3","revision":\(revision),"base":\(base ?? revision - 1),\(part)\
    "mode":"\(mode)","time":"2026-11-20T10:00:00.250Z","through":{"feeds.items":1234,"feeds.sections":12},\
    "checksum":"
    """
  }

  @Test func `the example is written as in the protocol`() throws {
    var before = feed("old: | top: d | today: c a e x | jobs:")
    before.sections[1].items[0].data = bytes("{\"score\":1}")
    var after = feed("live: c | today: b e x | top: d | jobs:")
    after.sections[0].data = bytes("{\"title\":\"Live\"}")
    after.sections[2].data = bytes("{\"title\":\"Top 30\"}")
    after.sections[2].items[0].data = bytes("{\"score\":9}")
    after.sections[1].items[0] = OracleItem(
      id: bytes("b"),
      kind: bytes("story"),
      data: bytes("{\"score\":1}")
    )
    after.sections[1].items[1].kind = bytes("ad")
    var forced = OracleForced()
    forced.sectionReloads = [bytes("jobs"), bytes("live")]
    forced.itemReloads = [bytes("b")]
    forced.itemReconfigures = [bytes("e")]
    var placements = OraclePlacements()
    placements.sections = [bytes("today")]
    // The judge saw no reload of this feed, so the byte limit would require a keyframe at once.
    var keyframes = KeyframePolicy()
    keyframes.maxBytesRatio = .infinity
    var judge = ChangesetJudge(keyframes: keyframes)
    let records = judge.expectedRecords(change(before, after, forced: forced, placements: placements))
    try #require(records.count == 1)
    let checksum = OracleChecksum.text(OracleChecksum.of(after))
    #expect(text(records[0].key) == "d1/h/n")
    // Either of today and top may be listed as moved.
    let moves = [#"{"id":"today","from":2,"to":1}"#, #"{"id":"top","from":1,"to":2}"#]
    let possible = moves.map { move in
      head(7, "diff") + checksum + """
        ","sections":{"delete":[{"id":"old","index":0}],\
        "insert":[{"id":"live","index":0,"data":{"title":"Live"}}],\
        "move":[\(move)],\
        "reconfigure":[{"id":"top","index":2,"data":{"title":"Top 30"}}],\
        "reload":[{"id":"jobs","index":3,"data":null}]},\
        "items":{"delete":[{"id":"a","section":"today","index":1}],\
        "insert":[{"id":"b","section":"today","index":0,"kind":"story","data":{"score":1}}],\
        "move":[{"id":"c","from":{"section":"today","index":0},"to":{"section":"live","index":0}}],\
        "reconfigure":[{"id":"d","section":"top","index":0,"data":{"score":9}}],\
        "reload":[{"id":"e","section":"today","index":1,"kind":"ad","data":null}]}}
        """
    }
    #expect(records[0].value.map { possible.contains(text($0)) } == true)
    let headers = [
      "content-type: application/json", "ce_specversion: 1.0", "ce_type: feedstore.changeset",
      "ce_source: /feedstore", "ce_id: h/n@feeds.sections/3@7/0", "ce_subject: h/n",
      "ce_time: 2026-11-20T10:00:00.250Z", "ce_sequence: 00000000000000000007",
    ]
    let plan = """
      feedstore.plan: {"weight":8,"itemsBefore":5,"itemsAfter":5,"changedKinds":1,\
      "differenceBytes":\(records[0].value?.count ?? 0),"reloadBytes":562,"maxChanges":5000,\
      "maxChangedFraction":0.5,"minimumItems":50,"maxKindFraction":0.5,"maxReloadRatio":3,"maxBytesRatio":1.5}
      """
    #expect(records[0].headers.map { "\($0.name): \(text($0.value))" } == headers + [plan])
    // The judge accepts either move, and nothing else.
    for value in possible {
      var judge = ChangesetJudge(keyframes: keyframes)
      var record = records[0]
      record.value = bytes(value)
      // The plan depends on the chosen moves.
      let size = "\"differenceBytes\":"
      let ownPlan = plan.dropFirst("feedstore.plan: ".count)
        .replacing("\(size)\(records[0].value?.count ?? 0)", with: "\(size)\(value.utf8.count)")
      record.headers[8].value = bytes(String(ownPlan))
      try judge.judge(change(before, after, forced: forced, placements: placements), [record])
    }
    for (part, wrong) in [
      ("\"to\":1", "\"to\":2"), ("today\",\"index\":1}", "today\",\"index\":2}"), ("diff", "reconfigure"),
      ("\"kind\":\"ad\",", ""), ("9}", "9 }"), ("0250Z", "0251Z"), ("1234", "1233"),
      ("{\"id\":\"today\",\"from\":2,\"to\":1}", ""),
    ] where possible[0].contains(part) {
      var judge = ChangesetJudge(keyframes: keyframes)
      var record = records[0]
      record.value = bytes(possible[0].replacing(part, with: wrong))
      #expect(throws: JudgeFailure.self) {
        try judge.judge(change(before, after, forced: forced, placements: placements), [record])
      }
    }
  }

  @Test func `keyframes and tombstones follow`() {
    var keyframes = KeyframePolicy()
    keyframes.maxDeltas = 2
    keyframes.maxBytesRatio = 1000
    var judge = ChangesetJudge(keyframes: keyframes)
    var all: [String] = []
    var states: [OracleFeed?] = [nil]
    states += [
      feed("s: a b c"), feed("s: a b"), feed("s: b"), feed("s: b x"), feed("s: b"), feed("s: b x"), nil,
    ]
    for (number, pair) in zip(states, states.dropFirst()).enumerated() {
      let records = judge.expectedRecords(change(pair.0, pair.1, revision: number + 1))
      all += records.map { text($0.key) + ($0.value == nil ? " null" : "") }
      for record in records where text(record.key).hasPrefix("k0") && number > 0 {
        guard let value = record.value else { continue }
        let revision = number + 1
        let start = head(revision, "reload\",\"reason\":\"keyframe", base: revision)
        #expect(text(value).hasPrefix(start))
        let id = record.headers.first { $0.name == "ce_id" }
        #expect(id.map { text($0.value) } == "h/n@feeds.sections/3@\(revision)/keyframe0")
      }
    }
    #expect(
      all == [
        "k0/h/n", "d1/h/n", "d2/h/n", "k0/h/n", "d1/h/n", "d2/h/n", "k0/h/n", "d1/h/n", "d2/h/n",
        "k0/h/n null",
        "d1/h/n null", "d2/h/n null",
      ]
    )
  }

  @Test func `large changesets are split greedily`() throws {
    var output = OutputOptions()
    output.maxMessageBytes = 300
    var judge = ChangesetJudge(output: output)
    let large = feed("one: a b c d e | two: f g h i j k l | three:")
    let records = judge.expectedRecords(change(nil, large, revision: 1))
    let values = records.compactMap(\.value)
    #expect(values.count > 2 && values.allSatisfy { $0.count <= 300 })
    #expect(
      text(values[0]).hasPrefix(head(1, "reload", part: "\"part\":0,\"parts\":\(values.count),").prefix(90))
    )
    var joined: [String] = []
    for value in values {
      for section in try OracleJSON.parse(value).last("sections")?.elements ?? [] {
        let isContinued = section.last("data") == nil
        joined.append((isContinued ? "+" : "") + (section.last("id")?.string.map(text) ?? ""))
        joined += (section.last("items")?.elements ?? []).compactMap { $0.last("id")?.string.map(text) }
      }
    }
    #expect(
      joined.filter { !$0.hasPrefix("+") }.joined(separator: " ") == "one a b c d e two f g h i j k l three"
    )
    #expect(joined.contains("+one") || joined.contains("+two"))
    // A smaller reload leaves keys unused.
    var requested = OracleForced()
    requested.feedReload = true
    let small = judge.expectedRecords(change(large, feed("one: a"), revision: 2, forced: requested))
    #expect(
      small.map { text($0.key) + ($0.value == nil ? " null" : "") }
        == ["k0/h/n"] + (1..<values.count).map { "k\($0)/h/n null" }
    )
  }

  @Test func `the judge accepts exactly the oracle's own records`() throws {
    for seed in UInt64(1)...20 {
      var options = seed > 12 ? .orderedSections : GeneratorOptions()
      options.isPlain = seed % 3 == 0
      var generator = RecordGenerator(seed: seed, options: options)
      var planner = PlannerThresholds()
      planner.minimumItems = 4
      planner.maxChangedFraction = 0.75
      planner.maxBytesRatio = seed % 2 == 0 ? 1.0 : 100
      var keyframes = KeyframePolicy()
      keyframes.maxDeltas = 4
      var output = OutputOptions()
      let isSplit = seed % 3 == 0
      output.maxMessageBytes = isSplit ? 700 : 900_000
      var oracle = Oracle()
      var judge = ChangesetJudge(planner: planner, keyframes: keyframes, output: output)
      var replicas: [OracleFeedKey: OracleFeed] = [:]
      var random = SplitMix64(seed: seed)
      func check(_ flush: OracleFlush) throws {
        var writer = judge
        let records = writer.expectedRecords(flush)
        if let last = records.indices.last {
          var missing = judge
          #expect(throws: JudgeFailure.self) { try missing.judge(flush, Array(records.dropLast())) }
          var wrong = records
          wrong[last].timestamp += 1
          var strict = judge
          #expect(throws: JudgeFailure.self) { try strict.judge(flush, wrong) }
          var altered = records
          let number = random.below(records.count)
          if var value = records[number].value {
            value[random.below(value.count)] ^= 1
            altered[number].value = value
            #expect(throws: JudgeFailure.self, "seed \(seed)") { try strict.judge(flush, altered) }
          }
        }
        try judge.judge(flush, records)
        for change in flush.changes {
          #expect(oracle.published(change.key)?.feed == change.after)
          if !isSplit { #expect(replicas[change.key] == change.before, "seed \(seed)") }
        }
        if isSplit { return }
        for record in records {
          guard let value = record.value, let slash = record.key.firstIndex(of: UInt8(ascii: "/")) else {
            continue
          }
          let key = OracleFeedKey(partition: record.partition, id: Array(record.key[(slash + 1)...]))
          replicas[key] = try NaiveReplica.apply([OracleJSON.parse(value)], to: replicas[key])
        }
        for change in flush.changes { #expect(replicas[change.key] == change.after, "seed \(seed)") }
      }
      for record in generator.records(400) {
        let step = oracle.take(record)
        if let flush = step.flushBefore { try check(flush) }
        if let flush = step.flushAfter { try check(flush) }
      }
      if let flush = oracle.finish() { try check(flush) }
    }
  }

  @Test func `the judge refuses a mode that contradicts the thresholds`() throws {
    var strict = PlannerThresholds()
    strict.maxChanges = 0
    let before = feed("s: a b c | t: d")
    let initial = change(nil, before, revision: 1)
    var byStrict = ChangesetJudge(planner: strict)
    var byDefault = ChangesetJudge()
    try byStrict.judge(initial, byDefault.expectedRecords(initial))
    let next = change(before, feed("s: a b | t: d"), revision: 2)
    var writesReloads = byStrict
    var writesDeltas = byDefault
    let reload = writesReloads.expectedRecords(next)
    let delta = writesDeltas.expectedRecords(next)
    #expect(reload.map { text($0.key) } == ["k0/h/n"] && delta.map { text($0.key) } == ["d1/h/n"])
    #expect(throws: JudgeFailure.self) { try byStrict.judge(next, delta) }
    #expect(throws: JudgeFailure.self) { try byDefault.judge(next, reload) }
    #expect(throws: JudgeFailure.self) { try byDefault.judge(next, []) }
    #expect(throws: JudgeFailure.self) { try byDefault.judge(next, delta + delta) }
    try byStrict.judge(next, reload)
    try byDefault.judge(next, delta)
  }

  @Test func `moves are minimal in a replaced list, and at most the placed elements in another`() throws {
    let before = feed("s: a b c d")
    let after = feed("s: a d b c")
    var replaced = OraclePlacements()
    replaced.replacedLists = [bytes("s")]
    var placed = OraclePlacements()
    placed.items = [bytes("b"), bytes("c")]
    func move(_ id: String, _ from: Int, _ to: Int) -> String {
      #"{"id":"\#(id)","from":{"section":"s","index":\#(from)},"to":{"section":"s","index":\#(to)}}"#
    }
    let fewest = [move("d", 3, 1)]
    let events = [move("b", 1, 2), move("c", 2, 3)]
    let cases: [(moves: [String], placements: OraclePlacements, isLegal: Bool)] = [
      (fewest, replaced, true), (fewest, placed, true), (events, placed, true), (events, replaced, false),
      (events.reversed(), placed, false), (fewest + events, placed, false), ([], placed, false),
    ]
    for (moves, placements, isLegal) in cases {
      var judge = ChangesetJudge()
      _ = judge.expectedRecords(change(nil, before, revision: 1))
      let flush = change(before, after, revision: 2, placements: placements)
      var writer = judge
      var record = try #require(writer.expectedRecords(flush).first)
      let value = record.value.map(text) ?? ""
      record.value = bytes(value.replacing(fewest[0], with: moves.joined(separator: ",")))
      let plan = text(record.headers[8].value)
        .replacing("\"weight\":1", with: "\"weight\":\(moves.count)")
        .replacing(":\(value.utf8.count),", with: ":\(record.value?.count ?? 0),")
      record.headers[8].value = bytes(plan)
      let isTaken = (try? judge.judge(flush, [record])) != nil
      #expect(isTaken == isLegal, "\(moves)")
    }
  }

  @Test func `the output of a replay is parsed`() throws {
    let line =
      #"{"topic":"t","partition":2,"offset":0,"ts":5,"headers":["a","b"],"key":"k0/\u0061","value":{"x":1.0}}"#
    let record = try JudgedRecord(replayLine: bytes(line))
    let expected = JudgedRecord(
      partition: 2,
      key: bytes("k0/a"),
      value: bytes("{\"x\":1.0}"),
      headers: [JudgedHeader("a", "b")],
      timestamp: 5
    )
    #expect(record == expected)
    #expect(throws: JudgeFailure.self) { try JudgedRecord(replayLine: bytes("{}")) }
    let input = OracleRecord(topic: "t", partition: 1, offset: 2, timestamp: 3, key: bytes("\""), value: nil)
    #expect(
      input.replayLine.map(text)
        == #"{"topic":"t","partition":1,"offset":2,"ts":3,"key":"\"","payload":null}"#
    )
  }
}
