package import Diagnostics
import OperatingSystem

/// The input records since the last commit: the amount by topic, and the times of writing.
///
/// It counts every record, so it does as little as possible: records of one topic are adjacent, and at full load
/// many of one millisecond.
package struct TakenInput {
  /// The amount of one topic.
  package struct Amount: Sendable, Equatable {
    package var records = 0
    /// Bytes of keys and values.
    package var bytes = 0

    package static func += (sum: inout Amount, other: Amount) {
      sum.records += other.records
      sum.bytes += other.bytes
    }
  }

  /// By the consumer's numbers of the topics, without the current run.
  private var topics: [Int: Amount] = [:]
  /// The times of writing, in milliseconds since 1970 UTC, with numbers of records; without the current run.
  private var times: [(timestamp: Int64, count: Int)] = []
  private var runTopic = 0
  /// -1 if the records have no timestamp.
  private var runTimestamp: Int64 = -1
  private var run = Amount()
  private let clock: @Sendable () -> Int64

  /// Beyond this number, neighbours are merged: 1 MiB.
  package static let mostTimes = 65_536

  /// - Parameter clock: milliseconds since 1970 UTC.
  package init(clock: @escaping @Sendable () -> Int64 = { WallClock.milliseconds() }) { self.clock = clock }

  package var records: Int { topics.values.reduce(run.records) { $0 + $1.records } }

  /// - Parameters:
  ///   - topic: the consumer's number of the topic.
  ///   - timestamp: in milliseconds since 1970 UTC; -1 if the record has no timestamp.
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

  /// Returns the amounts of each topic, by the consumer's numbers, and adds the delays from the records' timestamps to now,
  /// in seconds. Then it starts again.
  package mutating func commit(into delays: inout Histogram) -> [Int: Amount] {
    begin(topic: 0, timestamp: -1)
    let now = clock()
    for (timestamp, count) in times {
      delays.observe(Double(max(0, now - timestamp)) / 1_000, times: count)
    }
    defer { discard() }
    return topics
  }

  /// Discards the records, which are read again.
  package mutating func discard() {
    topics.removeAll(keepingCapacity: true)
    times.removeAll(keepingCapacity: true)
    (runTimestamp, run) = (-1, Amount())
  }
}
