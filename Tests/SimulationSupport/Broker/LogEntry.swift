/// What takes up an offset of a partition.
public struct LogEntry {
  public enum Content {
    case record(SimulatedRecord)
    /// Ends a transaction.
    case marker(isCommit: Bool)
  }

  public let offset: Int64
  public let content: Content
  /// The records of one transaction in the partition; nil for what was written without one, and for markers.
  public let span: TransactionSpan?
}

/// What one transaction wrote to one partition.
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

/// A producer, and which of those that have had its `transactional.id`.
public struct ProducerKey: Hashable {
  public let id: Int64
  public let epoch: Int16

  public init(id: Int64, epoch: Int16) {
    self.id = id
    self.epoch = epoch
  }
}
