import CRdkafka

/// Reads topics, as a member of a group or from partitions assigned by hand.
///
/// **One thread.** A consumer and its batches belong to one thread, and are not `Sendable`: batches, seeking,
/// pausing and rebalances of librdkafka 2.0.2 are only right from one thread.
///
/// **Nothing is committed** by the consumer itself: offsets go into a producer's transaction
/// (`TransactionalProducer.sendOffsets`), or to `commit`.
///
/// **Rebalances** are incremental: a poll brings them one by one (`MessageBatch.rebalance`), and the owner completes each
/// when it is ready (`complete`). Partitions that stay are read on, from where the owner seeks to: **after each rebalance it must seek
/// the partitions that stay** to what it wants next. librdkafka 2.0.2 pauses them from a thread of its own, and may then throw
/// away records that it counts as handed out.
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
public final class Consumer {
  /// Told what the client counts, on the consumer's thread, inside `poll`; each `statistics.interval.ms`, if that is set.
  public var onStatistics: ((ClientStatistics) -> Void)? {
    get { handle?.context.onStatistics }
    set { handle?.context.onStatistics = newValue }
  }

  /// Where partitions that the group assigns begin; nil for what is committed.
  ///
  /// With a start, partitions are paused from the beginning: for an owner that finds out by itself where to begin,
  /// seeks and resumes: `startWithoutQuery`. librdkafka 2.0.2 asks for committed offsets only once: when that fails, the partition is
  /// not read, and cannot be sought (`_STATE`), until the next assignment. And when it has to ask again for a
  /// logical offset, such as `TopicPartitionOffset.beginning`, the answer takes a partition back that was sought
  /// meanwhile.
  public var assignmentStart: Int64?

  /// A start that librdkafka need not ask anybody about, and from which nothing is read.
  public static let startWithoutQuery: Int64 = 0

  /// The partitions that `pause` has paused and that are still assigned.
  public internal(set) var pausedPartitions: Set<TopicPartition> = []
  /// Where to go on with partitions of which a poll brought something while they were paused.
  var withheld: [TopicPartition: Int64] = [:]

  /// nil once the consumer is closed.
  private var handle: ClientHandle?
  let queue: OpaquePointer
  private var topics = TopicTable()
  private var batches: [WeakBatch] = []
  private let hasGroup: Bool
  private var isSubscribed = false
  private(set) var isClosing = false

  // What the group has given: Consumer+Rebalance.swift.
  /// Topics whose partitions go with those of the topic that the group shares out.
  private(set) var companions: [String] = []
  /// The partitions that were assigned, and neither revoked nor lost since.
  public internal(set) var held: Set<TopicPartition> = []
  /// The rebalance that a poll has brought and that is to be completed.
  public internal(set) var pendingRebalance: Rebalance?
  /// What the group called this member when it was assigned the first of the partitions it holds.
  var memberID: String?
  var hasBeenAssigned = false

  private struct WeakBatch {
    weak var batch: MessageBatch?
  }

  /// Makes a consumer; it connects on its own and joins its group on `subscribe`.
  ///
  /// Set unless the configuration says otherwise: `socket.nagle.disable=true`. Always: the strategy by which the group's
  /// leader shares out partitions (`cooperative-sticky`), no automatic commits, ends of partitions reported.
  ///
  /// - Parameters:
  ///   - configuration: librdkafka's properties. Without `group.id` the consumer reads partitions
  ///     assigned by hand.
  ///   - isolationLevel: nil leaves it to the configuration, and to librdkafka (`read_committed`).
  ///   - log: receives librdkafka's log lines, on its threads.
  /// - Throws: `_INVALID_ARG` naming the property and the value that is not accepted.
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
    self.handle = handle
    self.queue = queue
    hasGroup = configuration["group.id"] != nil
    handle.context.consumer = self
  }

  deinit {
    tearDown(timeoutMilliseconds: 0)
  }

  /// Joins the group named by `group.id` and shares a topic with its other members.
  ///
  /// Returns at once; partitions arrive during `poll`. A topic that does not exist is no error here but
  /// an event of a later poll: see `metadata` for asking first.
  ///
  /// - Parameter companions: topics with as many partitions, which are not shared out by themselves: their partitions go with
  ///   those of the same number. For brokers they are not topics of the group, which therefore forgets offsets of theirs
  ///   that are not committed again within `offsets.retention.minutes`.
  public func subscribe(_ topic: String, companions: [String] = []) throws(KafkaError) {
    let action = "subscribe to \(topic)"
    let client = try groupClient(action)
    self.companions = companions
    let list = TopicPartitionList([TopicPartition(topic: topic, partition: RD_KAFKA_PARTITION_UA)])
    try KafkaError.check(rd_kafka_subscribe(client, list.pointer), client: client, action)
    isSubscribed = true
  }

  /// Leaves the group, to join it anew with the next `subscribe`; what it holds is revoked first.
  public func unsubscribe() throws(KafkaError) {
    let action = "unsubscribe"
    let client = try groupClient(action)
    try KafkaError.check(rd_kafka_unsubscribe(client), client: client, action)
  }

  /// Makes a batch for this consumer to poll into.
  ///
  /// - Parameter capacity: the most records of one poll, at least 1.
  public func makeBatch(capacity: Int) -> MessageBatch {
    let batch = MessageBatch(capacity: capacity, owner: ObjectIdentifier(self))
    batches.removeAll { $0.batch == nil }
    batches.append(WeakBatch(batch: batch))
    return batch
  }

  /// Fills a batch made by this consumer with what has come, after recycling what it held.
  ///
  /// Returns as soon as there is anything: all that waits, or, after waiting, the first record or event.
  /// A poll must follow within `max.poll.interval.ms`, also while everything is paused.
  ///
  /// - Parameters:
  ///   - maxMessages: a smaller bound than the batch's capacity.
  ///   - timeoutMilliseconds: how long to wait when nothing is there; 0 does not wait.
  /// - Returns: the number of records.
  /// - Throws: `_DESTROY` if the consumer is closed. Other errors are events of the batch.
  @discardableResult
  public func poll(
    into batch: MessageBatch,
    maxMessages: Int = .max,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Int {
    let client = try client("poll")
    precondition(batch.owner == ObjectIdentifier(self), "the batch was made by another consumer")
    precondition(maxMessages > 0, "a poll is for at least one message, not \(maxMessages)")
    batch.recycle()

    // librdkafka waits until the batch is *full* or the time is up. So take what is there without
    // waiting, and wait for one message only. The two are never put together: a rebalance in the second
    // call would have to take back what the first has given.
    let earlier = pendingRebalance
    var received = rd_kafka_consume_batch_queue(queue, 0, batch.storage, min(maxMessages, batch.capacity))
    if received == 0, timeoutMilliseconds > 0, pendingRebalance == earlier,
      handle?.context.errors.isEmpty == true
    {
      received = rd_kafka_consume_batch_queue(queue, timeoutMilliseconds, batch.storage, 1)
    }
    if received < 0 {
      batch.append(.error(.make(KafkaErrorCode(rd_kafka_last_error()), "poll", client: client)))
    } else {
      batch.accept(received, topics: &topics, client: client)
      if !pausedPartitions.isEmpty { withhold(from: batch) }
    }
    for error in handle?.context.takeErrors() ?? [] {
      batch.append(.error(error))
    }
    if pendingRebalance != earlier { batch.rebalance = pendingRebalance }
    return batch.count
  }

  /// Takes out what was on its way when its partition was paused; it is fetched again on resuming.
  private func withhold(from batch: MessageBatch) {
    batch.removeAll { message in
      let partition = TopicPartition(topic: topics.name(at: message.topicIndex), partition: message.partition)
      guard pausedPartitions.contains(partition) else { return false }
      withheld[partition] = min(withheld[partition] ?? message.offset, message.offset)
      return true
    }
  }

  /// The name of the topic with this number.
  public func topicName(at index: Int) -> String { topics.name(at: index) }

  /// The number that this consumer's messages carry for a topic; it never changes.
  ///
  /// - Throws: `_INVALID_ARG` if the name is not one of a topic.
  public func topicIndex(of name: String) throws(KafkaError) -> Int {
    let client = try client("look up topic \(name)")
    guard let index = topics.index(ofName: name, client: client) else {
      throw .make(KafkaErrorCode(rd_kafka_last_error()), "look up topic \(name)")
    }
    return index
  }

  /// Asks which of the topics exist and how many partitions they have; does not create any.
  public func metadata(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    _ = try client("read metadata")
    return try handle?.metadata(topics, timeoutMilliseconds: timeoutMilliseconds) ?? TopicMetadata()
  }

  /// Leaves the group and frees everything; closing again does nothing.
  ///
  /// The partitions it holds are given up, without another word. The consumer's batches are recycled first.
  ///
  /// - Parameter timeoutMilliseconds: how long all of it may take.
  /// - Throws: `_TIMED_OUT` if the group could not be left or the client not be torn down in time. It is
  ///   closed all the same, its remains go in the background, and the group forgets the member after
  ///   `session.timeout.ms`.
  public func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    guard let client = handle?.client else { return }
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    for weak in batches {
      weak.batch?.recycle()
    }
    // librdkafka 2.0.2 would wait for ever for an assignment that it has told of.
    if let rebalance = pendingRebalance, !rebalance.needsNewConsumer { try? complete(rebalance) }
    isClosing = true
    let hasLeft = isSubscribed ? leaveGroup(client, deadline) : true
    let isGone = tearDown(timeoutMilliseconds: max(1, deadline.remainingMilliseconds))
    if !hasLeft {
      throw .make(.timedOut, "leave the group within \(timeoutMilliseconds) ms of closing the consumer")
    }
    if !isGone {
      throw .make(.timedOut, "tear down the consumer within \(timeoutMilliseconds) ms")
    }
  }

  /// The client, for one call.
  ///
  /// - Throws: `_DESTROY` if it is closed.
  func client(_ action: @autoclosure () -> String) throws(KafkaError) -> OpaquePointer {
    guard let handle else { throw .make(.closed, action()) }
    return handle.client
  }

  /// The client, for one call that is about the group.
  ///
  /// - Throws: `_UNKNOWN_GROUP` if there is none; `_DESTROY` if the consumer is closed.
  func groupClient(_ action: @autoclosure () -> String) throws(KafkaError) -> OpaquePointer {
    let client = try client(action())
    guard hasGroup else { throw .make(KafkaErrorCode(RD_KAFKA_RESP_ERR__UNKNOWN_GROUP), action()) }
    return client
  }

  /// Notes an error that no call can throw: it becomes an event of the poll under way, or of the next.
  func note(_ error: KafkaError) {
    handle?.context.append(error)
  }

  /// Serves the callbacks of leaving the group until it is done.
  private func leaveGroup(_ client: OpaquePointer, _ deadline: Deadline) -> Bool {
    // Not the consumer's own queue, which is forwarded to the one given here.
    guard let closing = rd_kafka_queue_new(client) else { return false }
    defer { rd_kafka_queue_destroy(closing) }
    if let error = rd_kafka_consumer_close_queue(client, closing) {
      note(.make(taking: error, "leave the group"))
      return false
    }
    while rd_kafka_consumer_closed(client) == 0 {
      if deadline.hasPassed {
        return false
      }
      // Served as in `poll`: `rd_kafka_queue_poll` would take the rebalance for an event, and call nobody.
      var message: UnsafeMutablePointer<rd_kafka_message_t>?
      let timeout = min(100, deadline.remainingMilliseconds)
      if rd_kafka_consume_batch_queue(closing, timeout, &message, 1) > 0, let message {
        rd_kafka_message_destroy(message)
      }
    }
    return true
  }

  /// librdkafka before 2.3 ends the process when a consumer is destroyed that has joined a group and was not assigned
  /// anything yet (its issue 4381).
  private static let safeDestruction: Int32 = 0x02_03_00_00

  /// Frees what hangs on the client, then the client.
  @discardableResult
  private func tearDown(timeoutMilliseconds: Int32) -> Bool {
    guard let handle else { return true }
    self.handle = nil
    for weak in batches {
      weak.batch?.recycle()
    }
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
