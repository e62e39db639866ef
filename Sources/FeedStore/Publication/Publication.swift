public import Feed

/// A part of a flush: a few megabytes, unless one difference is larger.
///
/// The store lends it for the duration of a call (``FeedStore/withPart(of:_:)``), because the records' bytes are in a
/// buffer that it reuses. Parts up to one that ends a transaction are published together, in one transaction.
public struct Publication: ~Copyable {
  private let buffer: RecordBuffer
  /// Records for the changesets topic, in order.
  public var records: [OutputRecord] { buffer.records }
  /// Rejected records, in order; only in the last part.
  public let rejected: [RejectedRecord]
  /// The input positions that the whole flush covers; only in its last part.
  public let covered: [CoveredPosition]
  /// Whether this is the last part of the flush.
  public let isLast: Bool
  /// Whether a transaction ends with this part; true for the last one.
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

  /// The bytes of a record's key, value or other part; valid as long as the publication is lent.
  public func bytes(_ range: Range<Int>) -> ByteSpan { buffer.bytes.span(range) }
}
