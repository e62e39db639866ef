import CRdkafka

/// Appends records to topics, idempotently, without transactions; for tools such as `feedstore publish`.
///
/// **One thread.** A producer is not `Sendable`. Delivery happens in the background; `poll` reports failed deliveries,
/// and `takeDeliveryErrors` returns them.
public final class Producer {
  private let core: ProducerCore

  /// Creates a producer, which connects in the background.
  ///
  /// It always sets `enable.idempotence=true`, and `socket.nagle.disable=true` unless the configuration does.
  ///
  /// - Parameter log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` with the invalid property and its value.
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
    try core.produce(
      topic: topic,
      partition: partition,
      key: key,
      value: value,
      headers: headers,
      timestampMilliseconds: timestampMilliseconds
    )
  }

  /// The number of records that are queued or in flight, and of delivery reports that wait for a poll.
  public var queuedCount: Int { core.queuedCount }

  /// Processes delivery reports; call it regularly, and when the queue is full.
  ///
  /// - Parameter timeoutMilliseconds: how long to wait for reports; 0 does not wait.
  /// - Returns: whether there are delivery errors to take.
  @discardableResult
  public func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    try core.poll(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Returns and clears the failed deliveries.
  public func takeDeliveryErrors() -> DeliveryErrors { core.takeDeliveryErrors() }

  /// Sends all queued records, and waits until each is delivered or has failed.
  ///
  /// - Throws: `_TIMED_OUT`, retriable. Failed records are delivery errors, not errors of this call.
  public func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
    try core.flush(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Whether the last metadata response came from an ``EmbeddedCluster``.
  public var isOnEmbeddedCluster: Bool { EmbeddedCluster.isID(core.clusterID) }

  /// Returns which of the topics exist, and their numbers of partitions. Creates none.
  public func metadata(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    try core.metadata(topics, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Delivers all queued records and releases all resources; a second call does nothing.
  ///
  /// Take the delivery errors first; they are lost with the producer.
  ///
  /// - Throws: `_TIMED_OUT` if records could not be delivered in time (they are discarded), or the client could not be
  ///   destroyed in time (that continues in the background).
  public func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    try core.close(delivering: true, timeoutMilliseconds: timeoutMilliseconds)
  }
}
