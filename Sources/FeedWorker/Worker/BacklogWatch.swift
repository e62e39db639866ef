import Kafka

/// When to look whether the input is behind, and what to do about it: ``Backlog``, ``MemoryReturn``, and whose fetching to
/// hasten.
struct BacklogWatch {
  private var backlog: Backlog
  private var memoryReturn = MemoryReturn()
  /// When to look next, in milliseconds of the monotonic clock.
  private var nextTime: Int64 = 0
  /// The most records that were seen waiting for a poll since the input fell behind.
  private var mostFetched = 0
  /// The number of wake-ups of the fetcher, so that each is for another partition than the one before.
  private var wakeCount = 0

  private static let intervalMilliseconds: Int64 = 10
  /// A poll that brings so many is a reason to look at once.
  private static let manyRecords = 1_000

  /// - Parameter maxRecords: the most records that wait to be published when the input is not behind.
  init(maxRecords: Int) { backlog = Backlog(maxRecords: maxRecords) }

  var isBehind: Bool { backlog.isBehind }

  /// Whether to look after a poll: at once if it brought many records or the input was behind, now and then otherwise.
  mutating func isDue(records: Int, at now: Int64) -> Bool {
    guard isBehind || records >= Self.manyRecords || now >= nextTime else { return false }
    nextTime = now + Self.intervalMilliseconds
    return true
  }

  /// A poll that may have waited has ended, and `unread` records were brought by none.
  mutating func poll(isEmpty: Bool, unread: Int64) {
    backlog.poll(isEmpty: isEmpty, unread: unread)
    if !isBehind { mostFetched = 0 }
  }

  /// What was polled is applied.
  mutating func apply(unread: Int64) { backlog.apply(unread: unread) }

  /// Whose fetching is to go on at once, if it is: the queue of fetched records is half empty.
  ///
  /// - Parameters:
  ///   - fetched: records that wait for a poll.
  ///   - partitions: those that have unread records.
  mutating func wake(fetched: Int, of partitions: [TopicPartition]) -> TopicPartition? {
    if partitions.isEmpty { return nil }
    mostFetched = max(mostFetched, fetched)
    guard fetched < mostFetched / 2 else { return nil }
    defer { wakeCount += 1 }
    return partitions[wakeCount % partitions.count]
  }

  /// Whether memory is to be given back to the system now.
  mutating func isMemoryReturnDue(at now: Int64) -> Bool { memoryReturn.isDue(isBehind: isBehind, at: now) }
}
