import FeedTestSupport
import Kafka

/// A record of a topic, copied.
struct TopicRecord: Sendable {
  var topic: String
  var partition: Int32
  var offset: Int64
  var timestamp: Int64
  var key: [UInt8]?
  var value: [UInt8]?
  var headers: [String: String] = [:]

  init(_ message: Message, topic: String) {
    self.topic = topic
    partition = message.partition
    offset = message.offset
    timestamp = message.timestampMilliseconds
    key = message.key.map { Array($0) }
    value = message.payload.map { Array($0) }
    for header in message.headers() {
      headers[header.name] = String(decoding: header.value ?? [], as: UTF8.self)
    }
  }

  /// The record as the oracle takes it.
  var oracleRecord: OracleRecord {
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
