import CRdkafka

/// The records, events and rebalance of one poll. `Consumer.makeBatch` creates it; it is reused for further polls.
///
/// It owns its messages. They are returned to librdkafka when the batch is polled into again, recycled or released, or
/// when the consumer is closed. Like its consumer, it belongs to one thread.
public final class MessageBatch {
  /// The maximum number of records.
  public let capacity: Int

  /// The number of records.
  @exclusivity(unchecked) public private(set) var count = 0

  /// Ends of partitions and errors, in order of arrival.
  public internal(set) var events: [ConsumerEvent] = []

  /// The rebalance from the poll, to be completed with `Consumer.complete`; nil if there was none.
  public internal(set) var rebalance: Rebalance?

  let storage: UnsafeMutablePointer<UnsafeMutablePointer<rd_kafka_message_t>?>
  private let topicIndexes: UnsafeMutablePointer<Int32>

  /// The consumer, which takes the messages back when it is closed.
  let owner: ObjectIdentifier

  init(capacity: Int, owner: ObjectIdentifier) {
    precondition(capacity > 0, "a batch has room for at least one record, not \(capacity)")
    self.capacity = capacity
    self.owner = owner
    storage = .allocate(capacity: capacity)
    storage.initialize(repeating: nil, count: capacity)
    topicIndexes = .allocate(capacity: capacity)
    topicIndexes.initialize(repeating: 0, count: capacity)
  }

  deinit {
    recycle()
    storage.deallocate()
    topicIndexes.deallocate()
  }

  public var isEmpty: Bool { count == 0 }

  /// Records of one partition are in the order of their offsets.
  public subscript(index: Int) -> Message {
    precondition(index >= 0 && index < count, "message \(index) of \(count)")
    // The first `count` slots are filled.
    return Message(pointer: storage[index].unsafelyUnwrapped, topicIndex: Int(topicIndexes[index]))
  }

  /// Returns the messages to librdkafka; all pointers into them become invalid.
  public func recycle() {
    for index in 0..<count {
      rd_kafka_message_destroy(storage[index])
      storage[index] = nil
    }
    count = 0
    events.removeAll(keepingCapacity: true)
    rebalance = nil
  }

  /// Takes the first `received` slots from librdkafka: records stay in order, everything else becomes an event.
  func accept(_ received: Int, topics: inout TopicTable, client: OpaquePointer) {
    for index in 0..<received {
      guard let message = storage[index] else { continue }
      storage[index] = nil
      let topic = message.pointee.rkt.flatMap { topics.index(of: $0, client: client) }
      if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, let topic {
        storage[count] = message
        topicIndexes[count] = Int32(truncatingIfNeeded: topic)
        count += 1
      } else {
        events.append(Self.event(message, topic: topic, topics: topics, client: client))
        rd_kafka_message_destroy(message)
      }
    }
  }

  /// Drops the messages that satisfy `shouldRemove`; the others keep their order.
  func removeAll(where shouldRemove: (Message) -> Bool) {
    var kept = 0
    for index in 0..<count {
      let pointer = storage[index]
      let topic = topicIndexes[index]
      if shouldRemove(self[index]) {
        rd_kafka_message_destroy(pointer)
        storage[index] = nil
        continue
      }
      if kept < index {
        storage[kept] = pointer
        topicIndexes[kept] = topic
        storage[index] = nil
      }
      kept += 1
    }
    count = kept
  }

  private static func event(
    _ message: UnsafeMutablePointer<rd_kafka_message_t>,
    topic: Int?,
    topics: TopicTable,
    client: OpaquePointer
  ) -> ConsumerEvent {
    let code = message.pointee.err
    if code == RD_KAFKA_RESP_ERR__PARTITION_EOF, let topic {
      return .endOfPartition(
        topic: topic,
        partition: message.pointee.partition,
        offset: message.pointee.offset
      )
    }
    var subject = "consume"
    if let topic {
      subject += " \(topics.name(at: topic))"
      if message.pointee.partition >= 0 { subject += " [\(message.pointee.partition)]" }
    }
    let detail = rd_kafka_message_errstr(message).map { String(cString: $0) }
    return .error(.make(KafkaErrorCode(code), subject, detail: detail, client: client))
  }
}

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

/// One header of a record, copied.
public struct Header: Sendable, Hashable {
  public var name: String
  /// The bytes of the value; nil for a null.
  public var value: [UInt8]?

  public init(name: String, value: [UInt8]?) {
    self.name = name
    self.value = value
  }
}
