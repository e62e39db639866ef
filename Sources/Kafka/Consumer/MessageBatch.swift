import CRdkafka

/// The records, events and rebalance of one poll. `Consumer.makeBatch` creates it; it is reused for further polls.
///
/// It owns its messages. They are returned to librdkafka when the batch is polled into again, recycled or released, or
/// when the consumer is closed. Like its consumer, it belongs to one thread.
public final class MessageBatch {
  /// The maximum number of records.
  public let capacity: Int

  /// Read for every record: direct access from another module would be checked for exclusivity each time.
  @inlinable package var messages: [Message] { stored }
  @usableFromInline @exclusivity(unchecked) var stored: [Message] = []

  /// Ends of partitions and errors, in order of arrival.
  public internal(set) var events: [ConsumerEvent] = []

  /// The rebalance from the poll, to be completed with `Consumer.complete`; nil if there was none.
  public internal(set) var rebalance: Rebalance?

  /// Memory for librdkafka; empty between polls.
  let storage: UnsafeMutablePointer<UnsafeMutablePointer<rd_kafka_message_t>?>

  /// The consumer, which takes the messages back when it is closed.
  let owner: ObjectIdentifier

  init(capacity: Int, owner: ObjectIdentifier) {
    precondition(capacity > 0, "a batch has room for at least one record, not \(capacity)")
    self.capacity = capacity
    self.owner = owner
    storage = .allocate(capacity: capacity)
    storage.initialize(repeating: nil, count: capacity)
    stored.reserveCapacity(capacity)
  }

  deinit {
    recycle()
    storage.deallocate()
  }

  @inlinable public var count: Int { stored.count }
  public var isEmpty: Bool { messages.isEmpty }

  /// Records of one partition are in the order of their offsets.
  public subscript(index: Int) -> Message { messages[index] }

  /// Returns the messages to librdkafka; all pointers into them become invalid.
  public func recycle() {
    for message in messages { message.destroy() }
    stored.removeAll(keepingCapacity: true)
    events.removeAll(keepingCapacity: true)
    rebalance = nil
  }

  /// Takes the first `received` slots from librdkafka: records keep their order, other messages become events.
  func accept(_ received: Int, topics: inout TopicTable, client: OpaquePointer) {
    for index in 0..<received {
      guard let message = storage[index] else { continue }
      let topic = message.pointee.rkt.flatMap { topics.index(of: $0, client: client) }
      if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, let topic {
        stored.append(Message(message, topicIndex: topic))
      } else {
        events.append(Self.event(message, topic: topic, topics: topics, client: client))
        rd_kafka_message_destroy(message)
      }
    }
  }

  /// Drops the messages that satisfy `shouldRemove`; the others keep their order.
  func removeAll(where shouldRemove: (Message) -> Bool) {
    stored.removeAll { message in
      guard shouldRemove(message) else { return false }
      message.destroy()
      return true
    }
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
  /// The index of the topic; see `Consumer.topicName(at:)`.
  public let topicIndex: Int

  /// The number of the partition, from 0.
  public let partition: Int32

  public let offset: Int64

  /// The record's time, in milliseconds since 1970 UTC; -1 if the record has none.
  public let timestampMilliseconds: Int64

  /// The bytes of the key; nil for a null key. An empty key is empty, not nil.
  public let key: UnsafeRawBufferPointer?

  /// The bytes of the value; nil for a null (a tombstone). An empty value is empty, not nil.
  public let payload: UnsafeRawBufferPointer?

  /// librdkafka's message, if it owns the record.
  let pointer: UnsafeMutablePointer<rd_kafka_message_t>?

  /// The number of bytes of key and value together.
  public var size: Int { (key?.count ?? 0) + (payload?.count ?? 0) }

  /// The value of the last header with this name; nil if there is none, or its value is null.
  ///
  /// - Parameter name: without a zero byte.
  public func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
    var list: OpaquePointer?
    guard let pointer, rd_kafka_message_headers(pointer, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else {
      return nil
    }
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
    guard let pointer, rd_kafka_message_headers(pointer, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else {
      return []
    }
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

extension Message {
  init(_ message: UnsafeMutablePointer<rd_kafka_message_t>, topicIndex: Int) {
    let fields = message.pointee
    self.init(
      topicIndex: topicIndex,
      partition: fields.partition,
      offset: fields.offset,
      timestampMilliseconds: rd_kafka_message_timestamp(message, nil),
      key: fields.key.map { UnsafeRawBufferPointer(start: $0, count: fields.key_len) },
      payload: fields.payload.map { UnsafeRawBufferPointer(start: $0, count: fields.len) },
      pointer: message
    )
  }

  func destroy() {
    if let pointer { rd_kafka_message_destroy(pointer) }
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
