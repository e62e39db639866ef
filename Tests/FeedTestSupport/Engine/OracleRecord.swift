/// An input record.
public struct OracleRecord: Sendable, Equatable {
  public var topic: String
  public var partition: Int
  public var offset: Int
  /// Milliseconds since 1970.
  public var timestamp: Int
  public var key: [UInt8]?
  public var value: [UInt8]?

  public init(
    topic: String = "feeds.items",
    partition: Int = 0,
    offset: Int,
    timestamp: Int = 0,
    key: [UInt8]?,
    value: [UInt8]?
  ) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
    self.timestamp = timestamp
    self.key = key
    self.value = value
  }

  /// Key and value, in bytes.
  public var byteCount: Int { (key?.count ?? 0) + (value?.count ?? 0) }
}
