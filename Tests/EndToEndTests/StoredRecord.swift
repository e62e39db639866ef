import FeedTestSupport
import Kafka

/// A record of a topic, copied.
struct StoredRecord: Equatable {
  var partition: Int32 = 0
  var offset: Int64 = 0
  var timestamp: Int64 = 0
  var key: [UInt8]?
  var value: [UInt8]?
  var headers: [String: String] = [:]

  init(partition: Int32 = 0, timestamp: Int64 = 0, key: [UInt8]?, value: [UInt8]?) {
    self.partition = partition
    self.timestamp = timestamp
    self.key = key
    self.value = value
  }

  init(partition: Int32 = 0, timestamp: Int64 = 0, _ key: String?, _ value: String?) {
    self.init(
      partition: partition,
      timestamp: timestamp,
      key: key.map { Array($0.utf8) },
      value: value.map { Array($0.utf8) }
    )
  }

  init(_ record: JudgedRecord) {
    self.init(
      partition: Int32(record.partition),
      timestamp: Int64(record.timestamp),
      key: record.key,
      value: record.value
    )
    for header in record.headers { headers[header.name] = String(decoding: header.value, as: UTF8.self) }
  }

  init(_ message: Message) {
    partition = message.partition
    offset = message.offset
    timestamp = message.timestampMilliseconds
    key = message.key.map { Array($0) }
    value = message.payload.map { Array($0) }
    for header in message.headers() {
      headers[header.name] = String(decoding: header.value ?? [], as: UTF8.self)
    }
  }

  var keyText: String? { key.map { String(decoding: $0, as: UTF8.self) } }
  var valueText: String? { value.map { String(decoding: $0, as: UTF8.self) } }
}

extension String {
  /// Without the times in epochs: a daemon takes them from its clock, and a replay from the records.
  var withoutEpochTimes: String { replacing(/(feeds\.[a-z]+):-?[0-9]+\//) { "\($0.1)/" } }
}
