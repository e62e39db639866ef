import CRdkafka

/// Appends records to topics, idempotently, without transactions: for tools such as `feedstore publish`.
///
/// **One thread.** A producer is not `Sendable`. Delivery happens in the background; what could not be
/// delivered is told by `poll` and taken with `takeDeliveryErrors`.
public final class Producer {
  private let core: ProducerCore

  /// Makes a producer; it connects on its own.
  ///
  /// Always `enable.idempotence=true`; `socket.nagle.disable=true` unless the configuration says otherwise.
  ///
  /// - Parameter log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` naming the property and the value that is not accepted.
  public init(configuration: KafkaConfiguration, log: @escaping KafkaLogHandler) throws(KafkaError) {
    if let identifier = configuration["transactional.id"] {
      throw .make(
        .invalidArgument,
        "use the property transactional.id = \"\(identifier)\"",
        detail: "this producer is without transactions; use a TransactionalProducer"
      )
    }
    core = try ProducerCore(configuration, log: log)
  }

  /// Queues a record; key, value and headers are copied.
  ///
  /// - Parameters:
  ///   - partition: the partition, from 0; see `Murmur2Partitioner`.
  ///   - key: nil is a null key, which is not the same as an empty one.
  ///   - value: nil is a null, a tombstone.
  ///   - timestampMilliseconds: the record's time since 1970 UTC; 0 is now.
  /// - Throws: `_QUEUE_FULL`, retriable: poll and call again; `MSG_SIZE_TOO_LARGE`; errors naming the
  ///   partition.
  public func produce(
    topic: String,
    partition: Int32,
    key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?,
    headers: HeaderList = HeaderList(),
    timestampMilliseconds: Int64 = 0
  ) throws(KafkaError) {
    try core.produce(
      topic: topic,
      partition: partition,
      key: key,
      value: value,
      headers: headers,
      timestampMilliseconds: timestampMilliseconds
    )
  }

  /// The number of records that are queued or on their way, and of reports that wait for a poll.
  public var queuedCount: Int { core.queuedCount }

  /// Takes note of what has been delivered; call it regularly, and when the queue is full.
  ///
  /// - Parameter timeoutMilliseconds: how long to wait for news; 0 does not wait.
  /// - Returns: whether there are delivery errors to take.
  @discardableResult
  public func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    try core.poll(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Gives, and forgets, the records that could not be delivered.
  public func takeDeliveryErrors() -> DeliveryErrors { core.takeDeliveryErrors() }

  /// Sends what is queued and waits until every record is delivered or has failed.
  ///
  /// - Throws: `_TIMED_OUT`, retriable. A record that failed is no error here but a delivery error.
  public func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
    try core.flush(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Asks which of the topics exist and how many partitions they have; does not create any.
  public func metadata(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    try core.metadata(topics, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Delivers what is queued and frees everything; closing again does nothing.
  ///
  /// Take the delivery errors before: they go with the producer.
  ///
  /// - Throws: `_TIMED_OUT` if records could not be delivered in time (they are thrown away) or the client
  ///   could not be torn down in time (it goes in the background).
  public func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    try core.close(delivering: true, timeoutMilliseconds: timeoutMilliseconds)
  }
}
