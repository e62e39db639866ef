package import Kafka

/// Whether the input is behind, so that more is published at once; when to look, and whose fetching to hasten.
///
/// It is behind as soon as many records are unread, and until hardly any are: so the end of a backlog is published with the
/// rest of it. Brokers count records of open transactions as well, which cannot be read yet; so it is not behind either
/// when nothing comes. All times are milliseconds of the monotonic clock.
package struct Backlog {
  package private(set) var isBehind = false
  /// As many unread records are a backlog.
  private let many: Int64
  /// When to look next.
  private var nextTime: Int64 = 0
  /// The most records that were seen waiting for a poll since the input fell behind.
  private var mostFetched = 0
  /// The number of wake-ups of the fetcher, so that each is for another partition than the one before.
  private var wakeCount = 0
  /// When the input was behind for the last time; nil once memory was given back.
  private var lastBehind: Int64?

  private static let intervalMilliseconds: Int64 = 10
  /// A poll that brings this many is a reason to look at once.
  private static let manyRecords = 1_000
  private static let memoryReturnMilliseconds: Int64 = 10_000

  /// - Parameter maxRecords: the most records that wait to be published when the input is not behind.
  package init(maxRecords: Int) { many = Int64(maxRecords) }

  /// Whether to look after a poll: at once if it brought many records or the input was behind, now and then otherwise.
  package mutating func isDue(records: Int, at now: Int64) -> Bool {
    guard isBehind || records >= Self.manyRecords || now >= nextTime else { return false }
    nextTime = now + Self.intervalMilliseconds
    return true
  }

  /// A poll that may have waited has ended.
  ///
  /// - Parameters:
  ///   - isEmpty: whether it brought no records.
  ///   - unread: records that no poll has brought yet, as far as the brokers have reported.
  package mutating func poll(isEmpty: Bool, unread: Int64) {
    if isEmpty {
      isBehind = false
    } else if unread >= many {
      isBehind = true
    }
    if !isBehind { mostFetched = 0 }
  }

  /// What was polled is applied.
  package mutating func apply(unread: Int64) {
    if unread < max(1, many / 10) { isBehind = false }
  }

  /// Whose fetching is to go on at once, if it is: the queue of fetched records is half empty.
  ///
  /// - Parameters:
  ///   - fetched: records that wait for a poll.
  ///   - partitions: those that have unread records.
  package mutating func wake(fetched: Int, of partitions: [TopicPartition]) -> TopicPartition? {
    if partitions.isEmpty { return nil }
    mostFetched = max(mostFetched, fetched)
    guard fetched < mostFetched / 2 else { return nil }
    defer { wakeCount += 1 }
    return partitions[wakeCount % partitions.count]
  }

  /// Whether the memory that catching up has taken is to be given back to the system: once, some time after the input was
  /// behind for the last time, as what is behind now and then takes the same memory again.
  package mutating func isMemoryReturnDue(at now: Int64) -> Bool {
    if isBehind {
      lastBehind = now
      return false
    }
    guard let time = lastBehind, now - time >= Self.memoryReturnMilliseconds else { return false }
    lastBehind = nil
    return true
  }
}
