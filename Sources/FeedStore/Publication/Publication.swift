public import Feed

/// What a flush publishes, or as much of it as is handed out at once: some megabytes, unless one
/// difference is larger.
///
/// The records' bytes are in a buffer that the store uses again: they are valid until the store is
/// asked for more, or told of the outcome. Parts are published together, in one transaction, up to one that
/// ends it.
public struct Publication: @unchecked Sendable {
  private let buffer: RecordBuffer
  /// Records for the changesets topic, in order.
  public var records: [OutputRecord] { buffer.records }
  /// Rejected records, in order; only with the last part.
  public let rejected: [RejectedRecord]
  /// What the whole flush covers; only with its last part.
  public let covered: [CoveredPosition]
  /// Whether this is the last part of the flush.
  public let isLast: Bool
  /// Whether a transaction ends with this part, as one does with the last.
  public let endsTransaction: Bool

  init(
    buffer: RecordBuffer,
    rejected: [RejectedRecord],
    covered: [CoveredPosition],
    isLast: Bool,
    endsTransaction: Bool
  ) {
    self.buffer = buffer
    self.rejected = rejected
    self.covered = covered
    self.isLast = isLast
    self.endsTransaction = endsTransaction
  }

  /// The bytes of a record's key, value or other part.
  public func bytes(_ range: Range<Int>) -> ByteSpan { buffer.bytes.span(range) }
}
