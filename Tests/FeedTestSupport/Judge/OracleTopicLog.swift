/// What a feed's epoch has in the topic.
struct OracleTopicLog: Equatable {
  /// Delta records since the last reload, and their values' bytes.
  var deltas = 0
  var deltaBytes = 0
  /// Bytes of the last reload's values.
  var reloadBytes = 0
  /// How many `k` keys hold a value: those below this number.
  var reloadKeys = 0
  /// The highest `d` key the epoch used.
  var deltaKeys = 0

  /// Notes a reload of these values; returns the `k` keys it leaves over.
  mutating func reload(_ values: [[UInt8]]) -> Range<Int> {
    let surplus = values.count..<max(values.count, reloadKeys)
    deltas = 0
    deltaBytes = 0
    reloadBytes = values.reduce(0) { $0 + $1.count }
    reloadKeys = values.count
    return surplus
  }

  /// Notes a delta record; returns its number.
  mutating func delta(_ value: [UInt8]) -> Int {
    deltas += 1
    deltaBytes += value.count
    deltaKeys = max(deltaKeys, deltas)
    return deltas
  }
}
