import CRdkafka

/// Reads topics, as a member of a group or from assigned partitions.
///
/// **One thread.** A consumer and its batches belong to one thread, and are not `Sendable`: in librdkafka 2.0.2,
/// batches, seeking, pausing and rebalances work correctly only from one thread.
///
/// **No automatic commits.** Offsets are committed in a producer's transaction (`TransactionalProducer.sendOffsets`).
///
/// **Rebalances** are incremental. A poll returns them one by one (`MessageBatch.rebalance`), and the owner completes
/// each when it is ready (`complete`). **After each rebalance, the owner must seek the partitions that stay** to the
/// next offset that it needs: librdkafka 2.0.2 pauses them from its own thread, and may then drop records that it
/// counts as delivered.
///
/// ```swift
/// let batch = consumer.makeBatch(capacity: 10_000)
/// while running {
///   try consumer.poll(into: batch, timeoutMilliseconds: 100)
///   for index in 0..<batch.count { apply(batch[index]) }
///   for event in batch.events { handle(event) }
/// }
/// try consumer.close(timeoutMilliseconds: 10_000)
/// ```
public final class Consumer: KafkaClient {
  /// The offset at which assigned partitions start; nil for the committed offset.
  ///
  /// If set, assigned partitions are paused at first. It is for an owner that determines the start itself, seeks and
  /// resumes: see `startWithoutQuery`. librdkafka 2.0.2 requests committed offsets only once: if that fails, the
  /// partition is not read and cannot be sought (`_STATE`) until the next assignment. If it must retry a logical offset
  /// such as `TopicPartitionOffset.beginning`, the late response overrides a seek.
  public var assignmentStart: Int64?

  /// A start offset that needs no request. Reading never begins there.
  public static let startWithoutQuery: Int64 = 0

  /// The partitions that are assigned and paused by `pause`.
  public internal(set) var pausedPartitions: Set<TopicPartition> = []
  /// The offsets at which to resume partitions whose records arrived while they were paused.
  var withheld: [TopicPartition: Int64] = [:]

  let queue: OpaquePointer
  private var topics = TopicTable()
  private var batches: [WeakBatch] = []
  /// The `group.id`; nil if there is none.
  package let groupID: String?
  private var isSubscribed = false
  private(set) var isClosing = false

  // State of the assignment: Consumer+Rebalance.swift.
  /// Topics whose partitions follow those of the assigned topic.
  private(set) var companions: [String] = []
  /// The partitions that are assigned, and not revoked or lost since.
  public internal(set) var held: Set<TopicPartition> = []
  /// The rebalance that a poll has returned and that is not yet completed.
  public internal(set) var pendingRebalance: Rebalance?
  /// The member id at the time when the first of the held partitions was assigned.
  var memberID: String?
  var hasBeenAssigned = false
  /// The topics that the group assigns; none if it is not a member of a group.
  private(set) var subscription: [String] = []
  var secondJoin: SecondJoin
  /// Whether to join the group again when the received rebalance is completed, and the time until which no poll returns it:
  /// `SecondJoin`.
  var joinsAgain = false
  var delayedRebalance: (rebalance: Rebalance, until: Deadline)?
  let start = ContinuousClock.now

  private struct WeakBatch {
    weak var batch: MessageBatch?
  }

  /// Creates a consumer. It connects in the background, and joins its group with `subscribe`.
  ///
  /// It sets `socket.nagle.disable=true` unless the configuration does. It always uses the assignment strategy
  /// `cooperative-sticky`, disables automatic commits, and enables end-of-partition events.
  ///
  /// - Parameters:
  ///   - configuration: librdkafka properties. Without `group.id`, the consumer reads the partitions that are added.
  ///   - isolationLevel: nil for the configuration's, or librdkafka's default (`read_committed`).
  ///   - log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` with the invalid property and its value.
  public init(
    configuration: KafkaConfiguration,
    isolationLevel: IsolationLevel? = nil,
    log: @escaping KafkaLogHandler
  ) throws(KafkaError) {
    let handle = try ClientHandle(
      RD_KAFKA_CONSUMER,
      try configuration.completedForConsumer(isolationLevel: isolationLevel),
      log: log
    ) { configuration in
      rd_kafka_conf_set_rebalance_cb(configuration) { _, code, partitions, opaque in
        CallbackContext.from(opaque)?.consumer?.rebalance(code, partitions)
      }
    }
    let code = rd_kafka_poll_set_consumer(handle.client)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let queue = rd_kafka_queue_get_consumer(handle.client) else {
      throw .make(KafkaErrorCode(code), "open the consumer's queue")
    }
    self.queue = queue
    groupID = configuration["group.id"]
    secondJoin = SecondJoin(isStatic: configuration["group.instance.id"] != nil)
    super.init(handle)
    handle.context.consumer = self
  }

  deinit { tearDown(timeoutMilliseconds: 0) }

  /// Joins the group named by `group.id`, and shares topics with the other members.
  ///
  /// Returns at once; partitions arrive during `poll`. A topic that does not exist is reported as an event of a later
  /// poll; use `metadata` to check first.
  ///
  /// - Parameter companions: topics with the same number of partitions, which are not assigned separately: their
  ///   partitions follow those with the same number. Brokers do not count them as topics of the group, so their
  ///   committed offsets expire after `offsets.retention.minutes` unless they are committed again.
  public func subscribe(_ topics: [String], companions: [String] = []) throws(KafkaError) {
    let client = try groupClient("subscribe to \(topics)")
    self.companions = companions
    try subscribe(topics, client)
    isSubscribed = true
    subscription = topics
  }

  func subscribe(_ topics: [String], _ client: OpaquePointer) throws(KafkaError) {
    let list = TopicPartitionList(topics.map { TopicPartition(topic: $0, partition: RD_KAFKA_PARTITION_UA) })
    try KafkaError.check(rd_kafka_subscribe(client, list.pointer), client: client, "subscribe to \(topics)")
  }

  /// Leaves the group, after its partitions have been revoked. The next `subscribe` joins it again.
  public func unsubscribe() throws(KafkaError) {
    let action = "unsubscribe"
    let client = try groupClient(action)
    try KafkaError.check(rd_kafka_unsubscribe(client), client: client, action)
    subscription = []
  }

  /// Creates a batch for polls of this consumer.
  ///
  /// - Parameter capacity: the maximum number of records of one poll, at least 1.
  public func makeBatch(capacity: Int) -> MessageBatch {
    let batch = MessageBatch(capacity: capacity, owner: ObjectIdentifier(self))
    batches.removeAll { $0.batch == nil }
    batches.append(WeakBatch(batch: batch))
    return batch
  }

  /// Recycles a batch of this consumer and fills it with available records and events.
  ///
  /// Returns all available records at once; if there are none, it waits for the first record or event. Polls must
  /// follow each other within `max.poll.interval.ms`, even while everything is paused.
  ///
  /// - Parameter timeoutMilliseconds: the maximum wait if nothing is available; 0 does not wait.
  /// - Returns: the number of records.
  /// - Throws: `_DESTROY` if the consumer is closed. Other errors are events in the batch.
  @discardableResult
  public func poll(into batch: MessageBatch, timeoutMilliseconds: Int32) throws(KafkaError) -> Int {
    let client = try client("poll")
    precondition(batch.owner == ObjectIdentifier(self), "the batch was made by another consumer")
    batch.recycle()

    // librdkafka waits until the batch is *full* or the timeout passes. So take the available messages without
    // waiting, and if there are none, wait for a single message. The results are never combined: a rebalance in the
    // second call would have to remove records of the first.
    let earlier = pendingRebalance
    var received = rd_kafka_consume_batch_queue(queue, 0, batch.storage, batch.capacity)
    if received == 0, timeoutMilliseconds > 0, pendingRebalance == earlier,
      handle?.context.errors.isEmpty == true
    {
      received = rd_kafka_consume_batch_queue(
        queue,
        timeUntilDelayEnds(timeoutMilliseconds),
        batch.storage,
        1
      )
    }
    if received < 0 {
      batch.events.append(.error(.make(KafkaErrorCode(rd_kafka_last_error()), "poll", client: client)))
    } else {
      batch.accept(received, topics: &topics, client: client)
      if !pausedPartitions.isEmpty { withhold(from: batch) }
    }
    batch.events += handle?.context.takeErrors().map { .error($0) } ?? []
    if groupID == nil { batch.events.removeAll(where: \.isAboutGroup) }
    if delayedRebalance?.until.hasPassed == true { endDelay() }
    if pendingRebalance != earlier { batch.rebalance = pendingRebalance }
    return batch.count
  }

  /// Removes records that were in flight when their partition was paused. They are fetched again on resuming.
  private func withhold(from batch: MessageBatch) {
    batch.removeAll { message in
      let partition = TopicPartition(topic: topics.name(at: message.topicIndex), partition: message.partition)
      guard pausedPartitions.contains(partition) else { return false }
      withheld[partition] = min(withheld[partition] ?? message.offset, message.offset)
      return true
    }
  }

  public func topicName(at index: Int) -> String { topics.name(at: index) }

  /// The same as `metadata`, for regular checks: it requests only these topics in a cluster of any size.
  public func metadataByName(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    _ = try client("read metadata")
    return try handle?.metadata(topics, byName: true, timeoutMilliseconds: timeoutMilliseconds)
      ?? TopicMetadata()
  }

  /// Leaves the group and releases all resources; a second call has no effect.
  ///
  /// It gives up the partitions without another rebalance. The consumer's batches are recycled first.
  ///
  /// - Parameter timeoutMilliseconds: the timeout for everything together.
  /// - Throws: `_TIMED_OUT` if leaving the group or destroying the client takes longer. The consumer is closed all the
  ///   same, its destruction continues in the background, and the group removes the member after `session.timeout.ms`.
  public func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    guard let client = handle?.client else { return }
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    for weak in batches { weak.batch?.recycle() }
    // librdkafka 2.0.2 would wait for ever for an assignment that is not completed.
    joinsAgain = false
    endDelay()
    if let rebalance = pendingRebalance, !rebalance.needsNewConsumer { try? complete(rebalance) }
    isClosing = true
    let hasLeft = isSubscribed ? leaveGroup(client, deadline) : true
    let isGone = tearDown(timeoutMilliseconds: max(1, deadline.remainingMilliseconds))
    if !hasLeft {
      throw .make(.timedOut, "leave the group within \(timeoutMilliseconds) ms of closing the consumer")
    }
    if !isGone { throw .make(.timedOut, "tear down the consumer within \(timeoutMilliseconds) ms") }
  }

  /// The client, for one call that needs a group.
  ///
  /// - Throws: `_UNKNOWN_GROUP` if there is none; `_DESTROY` if the consumer is closed.
  func groupClient(_ action: @autoclosure () -> String) throws(KafkaError) -> OpaquePointer {
    let client = try client(action())
    guard groupID != nil else { throw .make(KafkaErrorCode(RD_KAFKA_RESP_ERR__UNKNOWN_GROUP), action()) }
    return client
  }

  /// Queues an error that no call can throw, as an event of the current or next poll.
  func note(_ error: KafkaError) { handle?.context.append(error) }

  /// Serves callbacks until the consumer has left the group.
  private func leaveGroup(_ client: OpaquePointer, _ deadline: Deadline) -> Bool {
    // Not the consumer's own queue, which is forwarded to this one.
    guard let closing = rd_kafka_queue_new(client) else { return false }
    defer { rd_kafka_queue_destroy(closing) }
    if let error = rd_kafka_consumer_close_queue(client, closing) {
      note(.make(taking: error, "leave the group"))
      return false
    }
    while rd_kafka_consumer_closed(client) == 0 {
      if deadline.hasPassed { return false }
      // Polled like in `poll`: `rd_kafka_queue_poll` would return the rebalance as an event instead of calling back.
      var message: UnsafeMutablePointer<rd_kafka_message_t>?
      let timeout = min(100, deadline.remainingMilliseconds)
      if rd_kafka_consume_batch_queue(closing, timeout, &message, 1) > 0, let message {
        rd_kafka_message_destroy(message)
      }
    }
    return true
  }

  /// librdkafka before 2.3 aborts the process if a consumer is destroyed in a group before its first assignment (issue
  /// 4381).
  private static let safeDestruction: Int32 = 0x02_03_00_00

  /// Releases everything that depends on the client, then the client.
  @discardableResult
  private func tearDown(timeoutMilliseconds: Int32) -> Bool {
    guard let handle else { return true }
    self.handle = nil
    for weak in batches { weak.batch?.recycle() }
    batches = []
    topics.removeAll()
    pausedPartitions = []
    withheld = [:]
    held = []
    pendingRebalance = nil
    rd_kafka_queue_destroy(queue)
    if isSubscribed, !hasBeenAssigned, rd_kafka_version() < Self.safeDestruction {
      handle.abandon()
      return true
    }
    return handle.destroy(timeoutMilliseconds: timeoutMilliseconds)
  }
}

/// The result of a poll other than records.
public enum ConsumerEvent: Sendable, Hashable {
  /// The partition has been read to its current end.
  ///
  /// `topic` is the topic's index (`Consumer.topicName(at:)`); `offset` is the next record's. The event follows the
  /// partition's records, occurs also without any, and occurs again after later records.
  case endOfPartition(topic: Int, partition: Int32, offset: Int64)

  /// An error of the client, a topic or a partition.
  ///
  /// librdkafka retries after retriable errors by itself. Other errors require an operator.
  case error(KafkaError)

  /// Whether it says that the user has no right to a group. librdkafka looks for the coordinator of the group that it
  /// requires, even for a consumer that never joins it.
  var isAboutGroup: Bool {
    if case .error(let error) = self { error.kind == .groupAuthorizationFailed } else { false }
  }
}
