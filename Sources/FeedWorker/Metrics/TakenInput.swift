import Service

/// What was taken of the input since the last commit: how much of each topic, and how old it was.
///
/// It is told of every record, so it does as little as can be: records of one topic come together, and at full load
/// many of one millisecond.
struct TakenInput {
  /// Of one topic.
  struct Amount: Sendable, Equatable {
    var records = 0
    /// Bytes of keys and values.
    var bytes = 0
  }

  /// By the consumer's numbers of the topics, but for the run under way.
  private var settled: [Amount] = []
  private var runTopic = 0
  private var run = Amount()
  private var ages = RecordAges()
  /// The timestamp of the last records, and how many have it.
  private var runTimestamp: Int64 = -1
  private var runLength: UInt32 = 0
  /// When the first record was taken, in milliseconds since 1970 UTC; ages count from here. 0 before it.
  private var base: Int64 = 0
  private let clock: @Sendable () -> Int64

  /// - Parameter clock: milliseconds since 1970 UTC.
  init(clock: @escaping @Sendable () -> Int64 = { WallClock.milliseconds() }) { self.clock = clock }

  /// Records that were taken.
  var records: Int { settled.reduce(run.records) { $0 + $1.records } }

  /// - Parameters:
  ///   - topic: the consumer's number of the topic.
  ///   - timestamp: in milliseconds since 1970 UTC; -1 if the record has none.
  @inline(__always)
  mutating func add(topic: Int, bytes: Int, timestamp: Int64) {
    if topic != runTopic || timestamp != runTimestamp { begin(topic: topic, timestamp: timestamp) }
    run.records += 1
    run.bytes += bytes
    runLength += 1
  }

  /// What was taken of each topic, by the consumer's numbers.
  mutating func topics() -> [Amount] {
    settle()
    return settled
  }

  /// Tells how long records took from their timestamps to now, in seconds, and forgets all.
  mutating func commit(into delays: inout Histogram) {
    settle()
    let elapsed = clock() - base
    if base > 0 {
      ages.take { age, count in delays.observe(max(0, age + Double(elapsed)) / 1_000, times: count) }
    }
    removeAll()
  }

  /// Forgets what is read again.
  mutating func discard() {
    if base > 0 { ages.removeAll() }
    removeAll()
  }

  private mutating func removeAll() {
    settled.removeAll(keepingCapacity: true)
    run = Amount()
    runTimestamp = -1
    runLength = 0
    base = 0
  }

  @inline(never)
  private mutating func begin(topic: Int, timestamp: Int64) {
    settle()
    runTopic = topic
    runTimestamp = timestamp
    if base == 0 { base = clock() }
  }

  /// Ends the run under way.
  private mutating func settle() {
    if run.records > 0 {
      while settled.count <= runTopic { settled.append(Amount()) }
      settled[runTopic].records += run.records
      settled[runTopic].bytes += run.bytes
      run = Amount()
    }
    if runLength > 0, runTimestamp >= 0 { ages.add(base - runTimestamp, times: runLength) }
    runLength = 0
  }
}
