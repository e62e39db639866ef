/// One record for the changesets topic; its bytes are in the buffer it came with.
public struct OutputRecord: Sendable, Equatable {
  /// The partition of the feed's input, and so of its changesets.
  public var partition: Int32
  /// Where the key is in the buffer.
  public var key: Range<Int>
  /// Where the value is in the buffer; nil for a Kafka null.
  public var value: Range<Int>?
  /// Where the feed's id is in the buffer.
  public var feed: Range<Int>
  /// Where the CloudEvents id is in the buffer; empty for a null, which has no headers.
  public var eventID: Range<Int>
  /// Where the header `feedstore.plan` is in the buffer; empty where there is none.
  public var plan: Range<Int>
  /// The changeset's time in milliseconds since 1970, also for nulls.
  public var time: Int64
  public var revision: UInt64
}
