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

  /// The timestamp, or the nearest time in the years 0 to 9999.
  public var time: Int { min(max(timestamp, -62_167_219_200_000), 253_402_300_799_999) }

  /// The size of key and value, in bytes.
  public var byteCount: Int { (key?.count ?? 0) + (value?.count ?? 0) }

  /// The record as a line of a replay file (protocol, section 7), without the line feed; nil when its key or
  /// value is not UTF-8.
  public var replayLine: [UInt8]? {
    guard OracleUTF8.isValid(key ?? []), OracleUTF8.isValid(value ?? []) else { return nil }
    var line = OracleText()
    line.add("{\"topic\":")
    line.addString(topic)
    line.addField("partition", number: partition)
    line.addField("offset", number: offset)
    line.addField("ts", number: timestamp)
    if let key { line.addField("key", string: key) }
    if let value { line.addField("payload", string: value) } else { line.add(",\"payload\":null") }
    line.add("}")
    return line.bytes
  }
}
