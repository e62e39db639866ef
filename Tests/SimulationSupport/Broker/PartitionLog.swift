public import Kafka

/// One partition: its records in order, with the state of producers and transactions.
public final class PartitionLog {
  private struct ProducerState {
    var epoch: Int16
    /// The next expected sequence number.
    var nextSequence: Int32
    /// The last batches, to detect duplicates: first and next sequence.
    var recent: [(range: ClosedRange<Int32>, end: Int64)] = []
  }

  public let partition: TopicPartition
  public private(set) var entries: [LogEntry] = []
  /// The offset of the oldest available record.
  public private(set) var low: Int64 = 0
  /// The offset of the next record.
  public private(set) var high: Int64 = 0
  private var producers: [Int64: ProducerState] = [:]
  private var openSpans: [Int64: TransactionSpan] = [:]

  init(_ partition: TopicPartition) { self.partition = partition }

  /// Whether a producer's open transaction has records here.
  func isWritten(by producer: ProducerKey) -> Bool { openSpans[producer.id] != nil }

  /// The offset before the first record of the oldest open transaction.
  public var lastStableOffset: Int64 { openSpans.values.map(\.firstOffset).min() ?? high }

  /// The end for readers of committed records.
  public func end(_ isolation: IsolationLevel) -> Int64 {
    isolation == .readCommitted ? lastStableOffset : high
  }

  // MARK: Writing

  /// Appends records without a transaction.
  public func append(_ records: [SimulatedRecord]) {
    for record in records { add(.record(record), nil) }
  }

  /// Appends a batch of a transaction, unless it is a duplicate.
  ///
  /// - Parameter sequence: the number of its first record.
  /// - Returns: the offset after its last record, or the error.
  func append(
    _ records: [SimulatedRecord],
    _ producer: ProducerKey,
    sequence: Int32
  ) throws(RefusedRequest) -> Int64 {
    var state = producers[producer.id] ?? ProducerState(epoch: producer.epoch, nextSequence: 0)
    if producer.epoch < state.epoch { throw RefusedRequest(.invalidProducerEpoch) }
    if producer.epoch > state.epoch { state = ProducerState(epoch: producer.epoch, nextSequence: 0) }
    let range = sequence...(sequence + Int32(records.count) - 1)
    if let earlier = state.recent.first(where: { $0.range == range }) { return earlier.end }
    guard sequence == state.nextSequence else { throw RefusedRequest(.outOfOrderSequence) }
    state.nextSequence = range.upperBound + 1
    state.recent = (state.recent + [(range, high + Int64(records.count))]).suffix(5)
    producers[producer.id] = state
    let span = openSpans[producer.id] ?? TransactionSpan(producer, firstOffset: high)
    openSpans[producer.id] = span
    for record in records { add(.record(record), span) }
    return (high)
  }

  /// Ends a producer's transaction.
  ///
  /// - Returns: whether a newer producer of its id has written a marker already.
  @discardableResult
  func mark(_ producer: ProducerKey, isCommit: Bool) -> Bool {
    var state = producers[producer.id] ?? ProducerState(epoch: producer.epoch, nextSequence: 0)
    if producer.epoch < state.epoch { return false }
    if producer.epoch > state.epoch { state = ProducerState(epoch: producer.epoch, nextSequence: 0) }
    producers[producer.id] = state
    openSpans.removeValue(forKey: producer.id)?.state = isCommit ? .committed : .aborted
    add(.marker(isCommit: isCommit), nil)
    return true
  }

  private func add(_ content: LogEntry.Content, _ span: TransactionSpan?) {
    entries.append(LogEntry(offset: high, content: content, span: span))
    high += 1
  }

  // MARK: Reading

  /// The records from an offset on, and the offset of the next read: after the examined ones.
  public func read(
    from offset: Int64,
    below end: Int64,
    _ isolation: IsolationLevel,
    most: Int
  ) -> (records: [(offset: Int64, record: SimulatedRecord)], next: Int64) {
    var records: [(offset: Int64, record: SimulatedRecord)] = []
    let end = min(end, self.end(isolation))
    var index = firstIndex(from: offset)
    while index < entries.count, entries[index].offset < end {
      if records.count == most { return (records, entries[index].offset) }
      let entry = entries[index]
      index += 1
      guard case .record(let record) = entry.content else { continue }
      if isolation == .readCommitted, entry.span?.state == .aborted { continue }
      records.append((entry.offset, record))
    }
    return (records, max(offset, end))
  }

  private func firstIndex(from offset: Int64) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].offset < offset { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Cleaning

  /// Keeps the newest committed record of each key, like the cleaner of a compacted topic, and all records after the
  /// last stable offset.
  public func compact(keepingTombstones: Bool) {
    let end = lastStableOffset
    var newest: [[UInt8]?: Int64] = [:]
    for entry in entries where entry.offset < end && entry.span?.state != .aborted {
      if case .record(let record) = entry.content { newest[record.key] = entry.offset }
    }
    entries.removeAll { entry in
      // The last entry stays, because producers' states depend on it.
      guard entry.offset < end, entry.offset < high - 1 else { return false }
      switch entry.content {
      case .marker: return true
      case .record(let record):
        if entry.span?.state == .aborted || newest[record.key] != entry.offset { return true }
        return record.value == nil && !keepingTombstones
      }
    }
  }
}

/// An entry that occupies an offset of a partition.
public struct LogEntry {
  public enum Content {
    case record(SimulatedRecord)
    /// Ends a transaction.
    case marker(isCommit: Bool)
  }

  public let offset: Int64
  public let content: Content
  /// The records of one transaction in the partition; nil for records without one, and for markers.
  public let span: TransactionSpan?
}

/// The records of one transaction in one partition.
public final class TransactionSpan {
  public enum State { case open, committed, aborted }

  public let producerID: Int64
  public let epoch: Int16
  public let firstOffset: Int64
  public internal(set) var state = State.open

  init(_ producer: ProducerKey, firstOffset: Int64) {
    producerID = producer.id
    epoch = producer.epoch
    self.firstOffset = firstOffset
  }
}

/// A producer, identified among all with its `transactional.id`.
public struct ProducerKey: Hashable {
  public let id: Int64
  public let epoch: Int16

  public init(id: Int64, epoch: Int16) {
    self.id = id
    self.epoch = epoch
  }
}

/// A record in a broker's log.
public struct SimulatedRecord {
  public var key: [UInt8]?
  public var value: [UInt8]?
  public var headers: [Header]
  /// Milliseconds since 1970.
  public var timestamp: Int64

  public init(key: [UInt8]?, value: [UInt8]?, headers: [Header] = [], timestamp: Int64) {
    self.key = key
    self.value = value
    self.headers = headers
    self.timestamp = timestamp
  }
}
