import Service

/// How feeds are restored.
struct RestoreFigures: Sendable {
  /// Records of the changesets topic that were read, and bytes of their keys and values.
  private(set) var records = 0
  private(set) var bytes = 0
  /// Records that are left of the restoration under way.
  private(set) var remaining: Int64 = 0
  /// How long restorations took that came to their end.
  private(set) var seconds = Histogram([0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600])

  /// Some more was read.
  mutating func read(records: Int, bytes: Int, remaining: Int64) {
    self.records += records
    self.bytes += bytes
    self.remaining = remaining
  }

  /// Feeds are restored.
  mutating func finish(milliseconds: Int64) {
    remaining = 0
    seconds.observe(Double(milliseconds) / 1_000)
  }

  /// What was restored is dropped.
  mutating func abandon() { remaining = 0 }

  mutating func add(_ other: RestoreFigures) {
    records += other.records
    bytes += other.bytes
    remaining += other.remaining
    seconds.add(other.seconds)
  }
}
