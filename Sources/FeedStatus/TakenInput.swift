package import Service

/// What was taken of the input since the last commit: how much of each topic, and when it was written.
///
/// It counts every record, so it does as little as possible: records of one topic come together, and at full load
/// many of one millisecond.
package struct TakenInput {
  /// Of one topic.
  package struct Amount: Sendable, Equatable {
    package var records = 0
    /// Bytes of keys and values.
    package var bytes = 0

    package static func += (sum: inout Amount, other: Amount) {
      sum.records += other.records
      sum.bytes += other.bytes
    }
  }

  /// By the consumer's numbers of the topics, but for the run under way.
  private var topics: [Int: Amount] = [:]
  /// When records were written, in milliseconds since 1970 UTC, and how many; but for the run under way.
  private var times: [(timestamp: Int64, count: Int)] = []
  private var runTopic = 0
  /// -1 if the records have none.
  private var runTimestamp: Int64 = -1
  private var run = Amount()
  private let clock: @Sendable () -> Int64

  /// With more, neighbours become one: 1 MiB.
  package static let mostTimes = 65_536

  /// - Parameter clock: milliseconds since 1970 UTC.
  package init(clock: @escaping @Sendable () -> Int64 = { WallClock.milliseconds() }) { self.clock = clock }

  package var records: Int { topics.values.reduce(run.records) { $0 + $1.records } }

  /// - Parameters:
  ///   - topic: the consumer's number of the topic.
  ///   - timestamp: in milliseconds since 1970 UTC; -1 if the record has none.
  @inline(__always)
  package mutating func add(topic: Int, bytes: Int, timestamp: Int64) {
    if topic != runTopic || timestamp != runTimestamp { begin(topic: topic, timestamp: timestamp) }
    run.records += 1
    run.bytes += bytes
  }

  @inline(never)
  private mutating func begin(topic: Int, timestamp: Int64) {
    if run.records > 0 {
      topics[runTopic, default: Amount()] += run
      if runTimestamp >= 0 { times.append((runTimestamp, run.records)) }
    }
    if times.count == Self.mostTimes {
      times.sort { $0.timestamp < $1.timestamp }
      times = stride(from: 0, to: times.count, by: 2).map { index in
        (times[index].timestamp, times[index].count + times[index + 1].count)
      }
    }
    (runTopic, runTimestamp, run) = (topic, timestamp, Amount())
  }

  /// Hands out what was taken of each topic, by the consumer's numbers, and adds how long records took from their timestamps
  /// to now, in seconds. It forgets all.
  package mutating func commit(into delays: inout Histogram) -> [Int: Amount] {
    begin(topic: 0, timestamp: -1)
    let now = clock()
    for (timestamp, count) in times {
      delays.observe(Double(max(0, now - timestamp)) / 1_000, times: count)
    }
    defer { discard() }
    return topics
  }

  /// Forgets what is read again.
  package mutating func discard() {
    topics.removeAll(keepingCapacity: true)
    times.removeAll(keepingCapacity: true)
    (runTimestamp, run) = (-1, Amount())
  }
}
