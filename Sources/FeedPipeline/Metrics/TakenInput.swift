import Service

/// What was taken of the input since the last commit: how much of each topic, and how old it was.
///
/// It is told of every record, so it does as little as can be.
struct TakenInput {
  /// Of one topic.
  struct Amount: Sendable, Equatable {
    var records = 0
    /// Bytes of keys and values.
    var bytes = 0
  }

  /// By the consumer's numbers of the topics.
  private(set) var topics: [Amount] = []
  private var ages = RecordAges()
  /// When the first record was taken, in milliseconds since 1970 UTC; ages count from here. 0 before it.
  private var base: Int64 = 0
  private let clock: @Sendable () -> Int64

  /// - Parameter clock: milliseconds since 1970 UTC.
  init(clock: @escaping @Sendable () -> Int64 = { WallClock.milliseconds() }) { self.clock = clock }

  /// Records that were taken.
  var records: Int { topics.reduce(0) { $0 + $1.records } }

  /// - Parameters:
  ///   - topic: the consumer's number of the topic.
  ///   - timestamp: in milliseconds since 1970 UTC; -1 if the record has none.
  mutating func add(topic: Int, bytes: Int, timestamp: Int64) {
    while topics.count <= topic { topics.append(Amount()) }
    topics[topic].records += 1
    topics[topic].bytes += bytes
    if base == 0 { base = clock() }
    if timestamp >= 0 { ages.add(base - timestamp) }
  }

  /// Tells how long records took from their timestamps to now, in seconds, and forgets all.
  mutating func commit(into delays: inout Histogram) {
    let elapsed = clock() - base
    if base > 0 {
      ages.take { age, count in delays.observe(max(0, age + Double(elapsed)) / 1_000, times: count) }
    }
    topics.removeAll(keepingCapacity: true)
    base = 0
  }

  /// Forgets what is read again.
  mutating func discard() {
    if base > 0 { ages.removeAll() }
    topics.removeAll(keepingCapacity: true)
    base = 0
  }
}
