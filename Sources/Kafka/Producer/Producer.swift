import CRdkafka

/// Appends records to topics, idempotently, without transactions; for tools such as `feedstore publish`.
///
/// **One thread.** A producer is not `Sendable`. Delivery happens in the background; `poll` reports failed deliveries,
/// and `takeDeliveryErrors` returns them.
public class Producer: KafkaClient {
  final var topics = TopicTable()

  /// Creates a producer, which connects in the background.
  ///
  /// It always sets `enable.idempotence=true`, and `socket.nagle.disable=true` unless the configuration does.
  ///
  /// - Parameter log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` with the invalid property and its value.
  public convenience init(
    configuration: KafkaConfiguration,
    log: @escaping KafkaLogHandler
  ) throws(KafkaError) {
    if let identifier = configuration["transactional.id"] {
      throw .make(
        .invalidArgument,
        "use the property transactional.id = \"\(identifier)\"",
        detail: "this producer is without transactions; use a TransactionalProducer"
      )
    }
    try self.init(configuration, log)
  }

  /// Creates a producer of either kind.
  init(_ given: KafkaConfiguration, _ log: @escaping KafkaLogHandler) throws(KafkaError) {
    var configuration = given
    configuration.setDefaults(["socket.nagle.disable": "true", "delivery.report.only.error": "true"])
    try configuration.require(
      "enable.idempotence",
      "true",
      because: "a record that is sent again must not be written twice"
    )
    let handle = try ClientHandle(RD_KAFKA_PRODUCER, configuration, log: log) { configuration in
      CallbackContext.registerClosing(on: configuration)
      rd_kafka_conf_set_dr_msg_cb(configuration) { client, message, opaque in
        guard let message, let context = CallbackContext.from(opaque) else { return }
        let number = Int(bitPattern: message.pointee._private)
        let code = message.pointee.err
        if code == RD_KAFKA_RESP_ERR_NO_ERROR {
          context.noteDelivery(of: message.pointee)
          context.onDelivery?(number, .success(message.pointee.offset))
        }
        // With a report of each record, discarded ones are reported too.
        guard Producer.isFailure(code) || code != RD_KAFKA_RESP_ERR_NO_ERROR && context.onDelivery != nil
        else {
          return
        }
        let topic = message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? "?"
        let isTooLarge = code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE
        let size = isTooLarge ? " of \(message.pointee.key_len + message.pointee.len) bytes" : ""
        let error = KafkaError.make(
          KafkaErrorCode(code),
          "deliver a record\(size) to \(topic) [\(message.pointee.partition)]",
          client: client
        )
        if let onDelivery = context.onDelivery {
          onDelivery(number, .failure(error))
        } else {
          context.deliveryErrors.append(error)
        }
      }
    }
    super.init(handle)
  }

  deinit { tearDown(timeoutMilliseconds: 0) }

  /// Whether a record with this code is a delivery error. Intentionally discarded records are not.
  private static func isFailure(_ code: rd_kafka_resp_err_t) -> Bool {
    switch code {
    case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: false
    default: true
    }
  }

  /// Queues a record; key, value and headers are copied.
  ///
  /// - Parameters:
  ///   - partition: the partition, from 0; see `Murmur2Partitioner`.
  ///   - key: nil for a null key, which differs from an empty one.
  ///   - value: nil for a null (a tombstone).
  ///   - timestampMilliseconds: the record's time since 1970 UTC; 0 for now.
  /// - Throws: `_QUEUE_FULL`, retriable: poll and call again; `MSG_SIZE_TOO_LARGE`; errors with the partition.
  public func produce(
    topic: String,
    partition: Int32,
    key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?,
    headers: HeaderList = HeaderList(),
    timestampMilliseconds: Int64 = 0
  ) throws(KafkaError) {
    let client = try client("produce to \(topic) [\(partition)]")
    guard let index = topics.index(ofName: topic, client: client) else {
      throw .make(KafkaErrorCode(rd_kafka_last_error()), "produce to \(topic) [\(partition)]")
    }
    let entries = headers.entries
    let error = headers.bytes.withUnsafeBytes { bytes in
      entries.withUnsafeBufferPointer { entries in
        withPointer(key) { key, keySize in
          withPointer(value) { value, valueSize in
            feedstore_produce(
              client,
              topics.pointer(at: index),
              partition,
              timestampMilliseconds,
              key,
              keySize,
              value,
              valueSize,
              bytes.baseAddress,
              entries.baseAddress,
              entries.count,
              producedCount + 1
            )
          }
        }
      }
    }
    try KafkaError.check(error, "produce to \(topic) [\(partition)]")
    producedCount += 1
  }

  /// The number of records that were queued so far, which is the number of the last one.
  public private(set) final var producedCount = 0

  /// Called by `poll` for each record, with its number, and its offset or the error, which then is not a delivery error.
  /// The offset is negative if the broker did not report it. Set `delivery.report.only.error` to `false`.
  public var onDelivery: ((_ number: Int, Result<Int64, KafkaError>) -> Void)? {
    get { handle?.context.onDelivery }
    set { handle?.context.onDelivery = newValue }
  }

  /// Whether it has failed permanently.
  public var hasFailed: Bool {
    handle.map { rd_kafka_fatal_error($0.client, nil, 0) != RD_KAFKA_RESP_ERR_NO_ERROR } ?? true
  }

  /// Whether the last metadata response came from an ``EmbeddedCluster``. Does not block.
  public var isOnEmbeddedCluster: Bool {
    EmbeddedCluster.isID(handle.flatMap { ClientHandle.clusterID($0.client) })
  }

  /// The number of records that are queued or in flight, and of delivery reports that wait for a poll.
  public var queuedCount: Int { handle.map { Int(rd_kafka_outq_len($0.client)) } ?? 0 }

  /// Processes delivery reports; call it regularly, and when the queue is full.
  ///
  /// - Parameter timeoutMilliseconds: the maximum wait for reports; 0 does not wait.
  /// - Returns: whether there are delivery errors to take.
  @discardableResult
  public func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    _ = rd_kafka_poll(try client("poll the producer"), timeoutMilliseconds)
    // Errors of the client itself have been logged; the affected calls throw them.
    _ = handle?.context.takeErrors()
    return handle?.context.deliveryErrors.isEmpty == false
  }

  /// Returns and clears the failed deliveries. A failed transactional call may return before the reports of the records that
  /// caused the failure; after `abort` all have arrived.
  public func takeDeliveryErrors() -> DeliveryErrors {
    guard let context = handle?.context else { return DeliveryErrors() }
    defer { context.deliveryErrors = DeliveryErrors() }
    return context.deliveryErrors
  }

  /// Sends all queued records, and waits until each is delivered or has failed. `commit` includes this.
  ///
  /// - Throws: `_TIMED_OUT`, retriable. Failed records are delivery errors, not errors of this call.
  public func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
    let client = try client("flush the producer")
    let code = rd_kafka_flush(client, timeoutMilliseconds)
    try KafkaError.check(code, client: client, "deliver the \(queuedCount) records that are queued")
  }

  /// Delivers all queued records and releases all resources; a second call has no effect.
  ///
  /// Take the delivery errors first; they are lost with the producer.
  ///
  /// - Throws: `_TIMED_OUT` if records could not be delivered in time (they are discarded), or the client could not be
  ///   destroyed in time (that continues in the background).
  public func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    try close(delivering: true, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Closes the client. If `delivering`, queued records are delivered first; otherwise they are discarded.
  func close(delivering: Bool, timeoutMilliseconds: Int32) throws(KafkaError) {
    guard let client = handle?.client else { return }
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    if delivering { _ = rd_kafka_flush(client, deadline.remainingMilliseconds) }
    // Pending delivery reports count, too: serve them until only records remain.
    _ = rd_kafka_poll(client, 0)
    let undelivered = queuedCount
    if undelivered > 0 {
      _ = rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
      _ = rd_kafka_poll(client, 0)
    }
    let isGone = tearDown(timeoutMilliseconds: max(1, deadline.remainingMilliseconds))
    if delivering && undelivered > 0 {
      throw .make(
        .timedOut,
        "deliver \(undelivered) records before closing, within \(timeoutMilliseconds) ms"
      )
    }
    if !isGone { throw .make(.timedOut, "close the producer within \(timeoutMilliseconds) ms") }
  }

  @discardableResult
  private func tearDown(timeoutMilliseconds: Int32) -> Bool {
    guard let handle else { return true }
    self.handle = nil
    topics.removeAll()
    return handle.destroy(timeoutMilliseconds: timeoutMilliseconds)
  }
}

/// Passes a pointer and a size to C; nil becomes NULL, and empty bytes do not.
private func withPointer<Result>(
  _ bytes: UnsafeRawBufferPointer?,
  _ body: (UnsafeRawPointer?, Int) -> Result
) -> Result {
  guard let bytes else { return body(nil, 0) }
  if let start = bytes.baseAddress { return body(start, bytes.count) }
  return withUnsafePointer(to: UInt8(0)) { body($0, 0) }
}

/// Records that a producer accepted but could not deliver.
public struct DeliveryErrors: Sendable, Hashable {
  public private(set) var count = 0

  /// The first errors, at most `maxErrors`, each with its topic and partition.
  public private(set) var errors: [KafkaError] = []

  /// The maximum number of errors that are kept; further ones are only counted.
  public static let maxErrors = 16

  public init() {}

  public var isEmpty: Bool { count == 0 }

  mutating func append(_ error: KafkaError) {
    count += 1
    if errors.count < Self.maxErrors { errors.append(error) }
  }

  package mutating func append(_ later: DeliveryErrors) {
    count += later.count
    errors += later.errors.prefix(Self.maxErrors - errors.count)
  }
}

/// The headers of a record to produce. It can be filled, used and cleared repeatedly without allocating.
///
/// ```swift
/// var headers = HeaderList()
/// headers.append("content-type", "application/json")
/// ```
public struct HeaderList {
  private(set) var bytes: [UInt8] = []
  private(set) var entries: [feedstore_header_t] = []

  public init() {}

  /// The size of all names and values.
  public var byteCount: Int { bytes.count }

  /// Adds a header with bytes as its value; nil for a null.
  public mutating func append(_ name: StaticString, _ value: UnsafeRawBufferPointer?) {
    append(Self.bytes(of: name), value)
  }

  /// Adds a header with text as its value.
  public mutating func append(_ name: StaticString, _ value: some StringProtocol) {
    append(Self.bytes(of: name), value.utf8)
  }

  /// Adds a copy of a header.
  public mutating func append(_ header: Header) { append(header.name.utf8, header.value) }

  /// Clears the list and keeps its memory.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
  }

  private static func bytes(of name: StaticString) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
  }

  private mutating func append(_ name: some Collection<UInt8>, _ value: (some Collection<UInt8>)?) {
    let start = bytes.count
    bytes.append(contentsOf: name)
    let end = bytes.count
    if let value { bytes.append(contentsOf: value) }
    let size = value == nil ? -1 : bytes.count - end
    entries.append(
      feedstore_header_t(name_offset: start, name_size: end - start, value_offset: end, value_size: size)
    )
  }
}
