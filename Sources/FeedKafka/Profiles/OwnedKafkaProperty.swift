/// A librdkafka property that FeedStore's guarantees depend on, with the only values allowed.
struct OwnedKafkaProperty {
  let allowed: [String]
  /// Continues a sentence after "because".
  let reason: String

  private static let commits = "offsets are committed in the transaction of their changesets"
  private static let replicas = "a transaction needs the acknowledgement of every replica"
  private static let nothingSkipped =
    "without committed offsets nothing may be skipped; kafka.onLostInput decides about deleted input"

  private static let table = [
    ("enable.auto.commit", ["false"], commits), ("auto.commit.enable", ["false"], commits),
    ("enable.auto.offset.store", ["false"], commits),
    ("enable.partition.eof", ["true"], "FeedStore waits for the ends of partitions"),
    ("isolation.level", ["read_committed"], "records of transactions that may be aborted must not be read"),
    ("auto.offset.reset", ["earliest", "smallest", "beginning"], nothingSkipped),
    ("partition.assignment.strategy", ["cooperative-sticky"], "only moving partitions may be revoked"),
    ("enable.idempotence", ["true"], "a record that is sent again must not be written twice"),
    ("acks", ["all", "-1"], replicas), ("request.required.acks", ["all", "-1"], replicas),
  ]

  /// By name.
  static let all = Dictionary(
    uniqueKeysWithValues: table.map { ($0, OwnedKafkaProperty(allowed: $1, reason: $2)) }
  )
}

/// Which kind of librdkafka client has a property (column C/P of its CONFIGURATION.md).
enum KafkaPropertyScope: Equatable {
  case consumer
  case producer
  case both

  init(of name: String) {
    let isProducers = Self.producerOnly.contains(name)
    self = Self.consumerOnly.contains(name) ? .consumer : isProducers ? .producer : .both
  }

  private static let consumerOnly: Set<String> = [
    "auto.commit.enable", "auto.commit.interval.ms", "auto.offset.reset", "check.crcs",
    "consume.callback.max.messages", "coordinator.query.interval.ms", "enable.auto.commit",
    "enable.auto.offset.store", "enable.partition.eof", "fetch.error.backoff.ms", "fetch.max.bytes",
    "fetch.message.max.bytes", "fetch.min.bytes", "fetch.wait.max.ms", "group.id", "group.instance.id",
    "group.protocol.type", "heartbeat.interval.ms", "isolation.level", "max.partition.fetch.bytes",
    "max.poll.interval.ms", "offset.store.method", "offset.store.path", "offset.store.sync.interval.ms",
    "partition.assignment.strategy", "queued.max.messages.kbytes", "queued.min.messages",
    "session.timeout.ms",
  ]

  private static let producerOnly: Set<String> = [
    "acks", "batch.num.messages", "batch.size", "compression.codec", "compression.level",
    "compression.type", "delivery.report.only.error", "delivery.timeout.ms", "enable.gapless.guarantee",
    "enable.idempotence", "linger.ms", "message.send.max.retries", "message.timeout.ms", "partitioner",
    "produce.offset.report", "queue.buffering.backpressure.threshold", "queue.buffering.max.kbytes",
    "queue.buffering.max.messages", "queue.buffering.max.ms", "queuing.strategy", "request.required.acks",
    "request.timeout.ms", "retries", "retry.backoff.ms", "sticky.partitioning.linger.ms",
    "transaction.timeout.ms", "transactional.id",
  ]
}
