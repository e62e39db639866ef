public import Feed

/// A part of a flush: a few megabytes, unless one difference is larger.
///
/// The store lends it for the duration of a call (``FeedStore/withPart(of:_:)``), because the records' bytes are in a
/// buffer that it reuses. Parts up to one that ends a transaction are published together, in one transaction.
public struct Publication: ~Copyable {
  let buffer: RecordBuffer
  /// The header `feedstore.contents` of its changesets; empty if there is none.
  let contents: [UInt8]
  /// Records for the changesets topic, in order.
  public var records: [OutputRecord] { buffer.records }
  /// Rejected records, in order; only in the last part.
  public let rejected: [RejectedRecord]
  /// Records that changed nothing, if the store notes them; only in the last part.
  public let unchanged: [(partition: Int32, record: TopicOffset)]
  /// The input positions that the whole flush covers; only in its last part.
  public let covered: [CoveredPosition]
  /// Whether this is the last part of the flush.
  public let isLast: Bool
  /// Whether a transaction ends with this part; true for the last one.
  public let endsTransaction: Bool

  /// The bytes of a record's key, value or other part; valid as long as the publication is lent.
  public func bytes(_ range: Range<Int>) -> ByteSpan { buffer.bytes.span(range) }
}

/// The headers of a changeset record: CloudEvents 1.0 in binary mode for Kafka, and the figures of its
/// ``ChangesetPlan`` if it has one.
public enum ChangesetHeaders {
  /// Calls `body` with each header in the order of the protocol, section 5.4. Nulls have none. The
  /// value is valid during the call.
  public static func forEach(
    _ record: OutputRecord,
    in publication: borrowing Publication,
    source: String,
    _ body: (_ name: StaticString, _ value: ByteSpan) -> Void
  ) {
    guard record.value != nil else { return }
    let writer = ByteWriter(capacity: 64)
    body("content-type", ByteSpan("application/json"))
    body("ce_specversion", ByteSpan("1.0"))
    body("ce_type", ByteSpan("feedstore.changeset"))
    writer.append(string: source)
    body("ce_source", writer.written)
    body("ce_id", publication.bytes(record.eventID))
    body("ce_subject", publication.bytes(record.feed))
    writer.removeAll()
    TimestampFormat.append(record.time, to: writer)
    body("ce_time", writer.written)
    writer.removeAll()
    writer.append(decimal: record.revision, width: 20)
    body("ce_sequence", writer.written)
    if !record.plan.isEmpty { body(ChangesetPlan.header, publication.bytes(record.plan)) }
    let contents = publication.contents
    if !contents.isEmpty { contents.withUnsafeBytes { body("feedstore.contents", ByteSpan($0)) } }
  }
}

/// The headers of a record on the rejected topic: its reason and its origin.
public enum RejectedHeaders {
  /// Calls `body` with each header. The value is valid during the call.
  public static func forEach(
    _ record: RejectedRecord,
    _ body: (_ name: StaticString, _ value: ByteSpan) -> Void
  ) {
    func pass(_ name: StaticString, _ text: String) {
      var text = text
      text.withUTF8 { body(name, ByteSpan(UnsafeRawBufferPointer($0))) }
    }
    pass("feedstore.error.code", record.rejection.code.rawValue)
    pass("feedstore.error.message", record.rejection.message)
    record.topic.withUnsafeBytes { body("feedstore.source.topic", ByteSpan($0)) }
    pass("feedstore.source.partition", String(record.partition))
    pass("feedstore.source.offset", String(record.offset))
    pass("feedstore.source.timestamp", String(record.timestamp))
  }
}
