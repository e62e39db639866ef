import Feed
import Oracle

extension FuzzTarget {
  /// Records of one feed, one per line: the value, or `null` for a Kafka null, or `=KEY=VALUE` for another feed.
  ///
  /// - The oracle has the same feed, and rejects the same records with the same codes.
  /// - A rejected record changes nothing.
  /// - A valid value has the same effect without white space, and as a part of a longer text.
  static let inputRecord = FuzzTarget(
    "input-record",
    tokens: OracleOp.allCases.map(\.rawValue) + [
      "\"op\":", "\"sections\":[", "\"items\":[", "\"section\":", "\"item\":", "\"id\":", "\"kind\":",
      "\"data\":", "\"order\":[{\"by\":\"/score\"}]", "\"keep\":2", "\"at\":", "\"first\"", "\"last\"",
      "{\"before\":\"a\"}", "{\"after\":\"a\"}",
      "{\"index\":0}", "\"a\"", "\"b\"", "\"s\"", "\"t\"", "=f=", "==", "\nnull\n",
      "\"order\":[{\"by\":\"", "\"direction\":\"descending\"", "\"keep\":2", "1e1", "1.0",
      "\"if\":{\"item\":\"a\",\"data\":{\"/score\":", "\"if\":{\"absent\":\"a\"}", "\"revision\":0",
    ],
    generate: { random in
      var options = random.below(2) == 0 ? .orderedSections : GeneratorOptions()
      options.limits = InputRecordRun.limits
      options.itemCount = 12
      options.sectionCount = 5
      if random.chance(50) { options.addOrders() }
      options.hasConditions = random.chance(30)
      var generator = RecordGenerator(seed: random.next(), options: options)
      let values = generator.records(1 + random.below(12)).map { $0.value ?? Array("null".utf8) }
      return Array(values.map { $0.filter { $0 != 0x0A } }.joined(separator: [0x0A]))
    },
    check: { input throws(FuzzFailure) in
      var run = InputRecordRun()
      for line in input.lines { try run.take(line) }
    }
  )
}
