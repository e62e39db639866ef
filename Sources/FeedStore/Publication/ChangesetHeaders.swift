public import Feed

/// The headers of a changeset record: those of a CloudEvents 1.0 binary-mode Kafka message, and the figures of its
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
  }
}
