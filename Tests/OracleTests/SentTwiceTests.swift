import Oracle
import Testing

/// Records that a producer sends twice (protocol, section 10.2).
@Suite struct SentTwiceTests {
  private static let key = OracleFeedKey(partition: 0, id: bytes("f0"))

  /// Records with one event each, for one feed.
  private func records(_ seed: UInt64) -> [OracleRecord] {
    var options = GeneratorOptions()
    options.feedCount = 1
    options.partitionCount = 1
    options.maxEvents = 1
    options.badPercent = 0
    options.repeatedOffsetPercent = 0
    options.isPlain = true
    options.topics = ["feeds.items"]
    var generator = RecordGenerator(seed: seed, options: options)
    return generator.records(300)
  }

  @Test(arguments: RandomCases.seeds(1...10))
  func `sending an event twice does not change the content`(seed: UInt64) {
    var oracle = Oracle()
    var changed = 0
    for (number, record) in records(seed).enumerated() {
      var states: [OracleFeed?] = [oracle.current(Self.key)]
      for offset in [2 * number, 2 * number + 1] {
        var sent = record
        sent.offset = offset
        _ = oracle.apply(sent)
        states.append(oracle.current(Self.key))
      }
      #expect(states[1] == states[2], "seed \(seed), record \(number): \(text(record.value ?? []))")
      if states[0] != states[1] { changed += 1 }
    }
    #expect(changed > 50)
  }

  @Test func `sending an array of events twice may change the content`() {
    var one = OneFeed()
    one.apply(#"{"op":"section.replace","section":"s","items":["b","c","d"]}"#)
    let array =
      #"[{"op":"item.move","item":"d","at":{"index":1}},{"op":"item.move","item":"b","at":"last"}]"#
    one.apply(array)
    #expect(one.outlined == "s: d c b")
    one.apply(array)
    #expect(one.outlined == "s: c d b")
  }
}
