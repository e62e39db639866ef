import Feed
public import FeedStore
public import Oracle

/// A copy of a part of a flush.
public struct PublishedPart: Sendable, Equatable {
  public var records: [JudgedRecord]
  public var rejected: [RejectedRecord]
  public var covered: [CoveredPosition]
  public var isLast: Bool
  public var endsTransaction: Bool

  /// - Parameter source: the header `ce_source`.
  public init(_ part: borrowing Publication, source: String) {
    records = part.records.map { record in
      var headers: [JudgedHeader] = []
      ChangesetHeaders.forEach(record, in: part, source: source) { name, value in
        headers.append(JudgedHeader(name.description, Array(value.buffer)))
      }
      return JudgedRecord(
        partition: Int(record.partition),
        key: Array(part.bytes(record.key).buffer),
        value: record.value.map { Array(part.bytes($0).buffer) },
        headers: headers,
        timestamp: Int(record.time)
      )
    }
    rejected = part.rejected
    covered = part.covered
    isLast = part.isLast
    endsTransaction = part.endsTransaction
  }
}
