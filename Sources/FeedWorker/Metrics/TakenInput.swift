import Service

/// What was taken of the input since the last commit: how much of each topic, and how old it was.
///
/// It counts every record, so it does as little as possible: records of one topic come together, and at full load
/// many of one millisecond.
package struct TakenInput {
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

/// Counts records by age in bounded memory, whatever the ages: by the millisecond up to 64, then with an error of 2 % at
/// most.
///
/// Ages are counted from one moment, so records that are made after it have negative ones.
struct RecordAges {
  /// By bucket: of negative ages, then of the others.
  private var counts = [UInt32](repeating: 0, count: 2 * Self.bucketCount)

  /// Each power of two is divided into so many buckets.
  private static let bits: Int64 = 5
  /// Up to here a bucket has one millisecond.
  private static let exact: Int64 = 64
  /// About 139 years: more than since 1970.
  private static let greatest: Int64 = 1 << 42
  private static let bucketCount = bucket(of: greatest) + 1

  /// - Parameter age: in milliseconds.
  mutating func add(_ age: Int64, times: UInt32 = 1) {
    let bucket = Self.bucket(of: Int64(clamping: age.magnitude))
    counts[age < 0 ? bucket : Self.bucketCount + bucket] &+= times
  }

  /// Tells the ages, each with its number of records, and forgets them.
  mutating func take(_ body: (_ age: Double, _ count: Int) -> Void) {
    for index in counts.indices where counts[index] > 0 {
      let age = Self.middle(of: index % Self.bucketCount)
      body(index < Self.bucketCount ? -age : age, Int(counts[index]))
    }
    removeAll()
  }

  mutating func removeAll() {
    for index in counts.indices { counts[index] = 0 }
  }

  /// - Parameter age: not negative.
  private static func bucket(of age: Int64) -> Int {
    if age < exact { return Int(age) }
    let age = min(age, greatest)
    let exponent = Int64(63 - age.leadingZeroBitCount)
    let within = (age >> (exponent - bits)) & ((1 << bits) - 1)
    return Int(exact + (exponent - 6) << bits + within)
  }

  private static func middle(of bucket: Int) -> Double {
    let number = Int64(bucket)
    if number < exact { return Double(number) }
    let exponent = (number - exact) >> bits + 6
    let within = (number - exact) & ((1 << bits) - 1)
    let width = Int64(1) << (exponent - bits)
    return Double((1 << exponent) + within * width) + Double(width - 1) / 2
  }
}
