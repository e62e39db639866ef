import CRdkafka

/// A view of a record in librdkafka's memory, without a copy.
///
/// A message and its pointers are valid only until its batch is polled into again or recycled, or its consumer is
/// closed. Nothing checks that: do not store one.
public struct Message {
  let pointer: UnsafeMutablePointer<rd_kafka_message_t>

  /// The index of the topic; see `Consumer.topicName(at:)`.
  public let topicIndex: Int

  /// The number of the partition, from 0.
  public var partition: Int32 { pointer.pointee.partition }

  public var offset: Int64 { pointer.pointee.offset }

  /// The record's time, in milliseconds since 1970 UTC; -1 if the record has none.
  public var timestampMilliseconds: Int64 { rd_kafka_message_timestamp(pointer, nil) }

  /// The bytes of the key; nil for a null key. An empty key is empty, not nil.
  public var key: UnsafeRawBufferPointer? {
    pointer.pointee.key.map { UnsafeRawBufferPointer(start: $0, count: pointer.pointee.key_len) }
  }

  /// The bytes of the value; nil for a null (a tombstone). An empty value is empty, not nil.
  public var payload: UnsafeRawBufferPointer? {
    pointer.pointee.payload.map { UnsafeRawBufferPointer(start: $0, count: pointer.pointee.len) }
  }

  /// The number of bytes of key and value together.
  public var size: Int { pointer.pointee.key_len + pointer.pointee.len }

  /// The value of the last header with this name; nil if there is none, or its value is null.
  ///
  /// - Parameter name: without a zero byte.
  public func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
    var list: OpaquePointer?
    guard rd_kafka_message_headers(pointer, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    var value: UnsafeRawPointer?
    var size = 0
    let name = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    guard rd_kafka_header_get_last(list, name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR, let value else {
      return nil
    }
    return UnsafeRawBufferPointer(start: value, count: size)
  }

  /// Copies the record's headers, in order. librdkafka parses them on demand.
  public func headers() -> [Header] {
    var list: OpaquePointer?
    guard rd_kafka_message_headers(pointer, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else { return [] }
    var headers: [Header] = []
    var name: UnsafePointer<CChar>?
    var value: UnsafeRawPointer?
    var size = 0
    while rd_kafka_header_get_all(list, headers.count, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR {
      headers.append(
        Header(
          name: name.map { String(cString: $0) } ?? "",
          value: value.map { Array(UnsafeRawBufferPointer(start: $0, count: size)) }
        )
      )
    }
    return headers
  }
}
