/// The records of a feed's epoch on the topic.
struct OracleTopicLog: Equatable {
  /// The number of deltas since the last reload, and the size of their values.
  var deltas = 0
  var deltaBytes = 0
  /// The size of the last reload's values.
  var reloadBytes = 0
  /// The number of `k` keys with a value: those below this number.
  var reloadKeys = 0
  /// The highest `d` key of the epoch.
  var deltaKeys = 0

  /// Adds a reload with these values. Returns the `k` keys that it no longer uses.
  mutating func reload(_ values: [[UInt8]]) -> Range<Int> {
    let surplus = values.count..<max(values.count, reloadKeys)
    if keeps(.reloadRestarts) { deltas = 0 }
    deltaBytes = 0
    reloadBytes = values.reduce(0) { $0 + $1.count }
    reloadKeys = values.count
    return surplus
  }

  /// Adds a delta. Returns its number.
  mutating func delta(_ value: [UInt8]) -> Int {
    deltas += 1
    deltaBytes += value.count
    deltaKeys = max(deltaKeys, deltas)
    return deltas
  }
}
