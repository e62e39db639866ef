import Feed
import Oracle

/// Changesets of random records, as the oracle writes them.
enum GeneratedChangesets {
  /// Records of the changesets topic, one per line.
  static func input(_ random: inout FuzzRandom) -> [UInt8] {
    var options = random.below(2) == 0 ? .orderedSections : GeneratorOptions()
    options.partitionCount = 1
    options.feedCount = 2
    options.badPercent = 0
    if random.chance(50) { options.addOrders() }
    var keyframes = KeyframePolicy()
    keyframes.maxDeltas = random.pick([keyframes.maxDeltas, 2])
    var output = OutputOptions()
    output.maxMessageBytes = random.pick([output.maxMessageBytes, 1_000])
    var generator = RecordGenerator(seed: random.next(), options: options)
    var oracle = Oracle()
    var writer = ChangesetJudge(keyframes: keyframes, output: output)
    var lines: [[UInt8]] = []
    for _ in 0...random.below(12) {
      for record in generator.records(1 + random.below(4)) { _ = oracle.apply(record) }
      for record in writer.expectedRecords(oracle.flush()) {
        lines.append(record.key + (record.value.map { [UInt8(ascii: "\t")] + $0 } ?? []))
      }
    }
    return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
  }
}
