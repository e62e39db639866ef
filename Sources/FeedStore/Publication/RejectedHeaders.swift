public import Feed

/// The headers of a record on the rejected topic: why, and where it came from.
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
