public import Feed

/// A copy of a record that could not be applied, with the reason.
public struct RejectedRecord: Sendable, Equatable {
  public var rejection: Rejection
  /// The source topic's name as UTF-8.
  public var topic: [UInt8]
  public var partition: Int32
  public var offset: Int64
  /// The source record's timestamp, in milliseconds since 1970.
  public var timestamp: Int64
  /// When it was rejected: by the daemon's clock, or in a replay its own timestamp.
  public var time: Int64
  public var key: [UInt8]?
  public var value: [UInt8]?

  init(_ record: InputRecord, _ rejection: Rejection) {
    self.rejection = rejection
    topic = record.position.topic
    partition = record.partition
    offset = record.position.offset
    timestamp = record.position.timestamp
    time = TimestampFormat.nearest(record.position.taken)
    key = record.key.map { Array($0.buffer) }
    value = record.valueBytes.map { Array($0.buffer) }
  }
}
