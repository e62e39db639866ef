package import Kafka

/// Whether the input is behind, so that more is published at once; when to check; and whose fetching to resume.
///
/// It falls behind when many records are unread, and catches up when almost none are, so the backlog's end is
/// published with the rest. Brokers also count records of open transactions, which cannot be read yet, so an
/// empty poll ends a backlog as well. All times are milliseconds of the monotonic clock.
package struct Backlog {
  package private(set) var isBehind = false
  /// This number of unread records is a backlog.
  private let many: Int64
  /// The time of the next check.
  private var nextTime: Int64 = 0
  /// The largest number of records that waited for a poll since the input fell behind.
  private var mostFetched = 0
  /// The number of wake-ups of the fetcher, so that consecutive wake-ups are for different partitions.
  private var wakeCount = 0
  /// The last time that the input was behind; nil after memory was returned to the system.
  private var lastBehind: Int64?

  private static let intervalMilliseconds: Int64 = 10
  /// A poll that returns this many records causes an immediate check.
  private static let manyRecords = 1_000
  private static let memoryReturnMilliseconds: Int64 = 10_000

  /// - Parameter maxRecords: the largest number of unpublished records while the input is not behind.
  package init(maxRecords: Int) { many = Int64(maxRecords) }

  /// Whether to check after a poll: at once after many records or during a backlog, otherwise at intervals.
  package mutating func isDue(records: Int, at now: Int64) -> Bool {
    guard isBehind || records >= Self.manyRecords || now >= nextTime else { return false }
    nextTime = now + Self.intervalMilliseconds
    return true
  }

  /// Handles the end of a poll that may have waited.
  ///
  /// - Parameters:
  ///   - isEmpty: whether the poll returned no records.
  ///   - unread: the number of records that no poll has returned yet, as far as the brokers have reported.
  package mutating func poll(isEmpty: Bool, unread: Int64) {
    if isEmpty {
      isBehind = false
    } else if unread >= many {
      isBehind = true
    }
    if !isBehind { mostFetched = 0 }
  }

  /// Handles the end of applying the polled records.
  package mutating func apply(unread: Int64) {
    if unread < max(1, many / 10) { isBehind = false }
  }

  /// The partition whose fetching is to resume; nil unless the queue of fetched records is half empty.
  ///
  /// - Parameters:
  ///   - fetched: the number of records that wait for a poll.
  ///   - partitions: the partitions with unread records.
  package mutating func wake(fetched: Int, of partitions: [TopicPartition]) -> TopicPartition? {
    if partitions.isEmpty { return nil }
    mostFetched = max(mostFetched, fetched)
    guard fetched < mostFetched / 2 else { return nil }
    defer { wakeCount += 1 }
    return partitions[wakeCount % partitions.count]
  }

  /// Whether to return to the system the memory that catching up has used: once, some time after the input
  /// was last behind, because an input that often falls behind needs the same memory again.
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
