public import FeedTestSupport
public import Kafka

/// A record of a topic, copied.
public struct TopicRecord: Sendable {
  public var topic: String
  public var partition: Int32
  public var offset: Int64
  public var timestamp: Int64
  public var key: [UInt8]?
  public var value: [UInt8]?
  public var headers: [String: String] = [:]

  public init(
    topic: String,
    partition: Int32,
    offset: Int64,
    timestamp: Int64,
    key: [UInt8]?,
    value: [UInt8]?,
    headers: [Header]
  ) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
    self.timestamp = timestamp
    self.key = key
    self.value = value
    for header in headers { self.headers[header.name] = String(decoding: header.value ?? [], as: UTF8.self) }
  }

  public init(_ message: Message, topic: String) {
    self.init(
      topic: topic,
      partition: message.partition,
      offset: message.offset,
      timestamp: message.timestampMilliseconds,
      key: message.key.map { Array($0) },
      value: message.payload.map { Array($0) },
      headers: message.headers()
    )
  }

  /// The record for the oracle.
  public var oracleRecord: OracleRecord {
    OracleRecord(
      topic: topic,
      partition: Int(partition),
      offset: Int(offset),
      timestamp: Int(timestamp),
      key: key,
      value: value
    )
  }
}
