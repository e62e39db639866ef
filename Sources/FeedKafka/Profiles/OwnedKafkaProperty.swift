/// A librdkafka property that FeedStore's guarantees depend on, with the only value allowed.
struct OwnedKafkaProperty {
  let name: String
  let allowed: [String]
  /// Continues a sentence after "because".
  let reason: String

  static let all = [
    OwnedKafkaProperty(
      name: "enable.auto.commit",
      allowed: ["false"],
      reason: "offsets are committed in the transaction of their changesets"
    ),
    OwnedKafkaProperty(
      name: "auto.commit.enable",
      allowed: ["false"],
      reason: "offsets are committed in the transaction of their changesets"
    ),
    OwnedKafkaProperty(
      name: "enable.auto.offset.store",
      allowed: ["false"],
      reason: "offsets are committed in the transaction of their changesets"
    ),
    OwnedKafkaProperty(
      name: "enable.partition.eof",
      allowed: ["true"],
      reason: "FeedStore waits for the ends of partitions"
    ),
    OwnedKafkaProperty(
      name: "isolation.level",
      allowed: ["read_committed"],
      reason: "records of transactions that may be aborted must not be read"
    ),
    OwnedKafkaProperty(
      name: "auto.offset.reset",
      allowed: ["earliest", "smallest", "beginning"],
      reason:
        "without committed offsets nothing may be skipped; kafka.onLostInput decides about deleted input"
    ),
    OwnedKafkaProperty(
      name: "partition.assignment.strategy",
      allowed: ["cooperative-sticky"],
      reason: "only what moves may be taken from a worker"
    ),
    OwnedKafkaProperty(
      name: "enable.idempotence",
      allowed: ["true"],
      reason: "a record that is sent again must not be written twice"
    ),
    OwnedKafkaProperty(
      name: "acks",
      allowed: ["all", "-1"],
      reason: "a transaction needs the acknowledgement of every replica"
    ),
    OwnedKafkaProperty(
      name: "request.required.acks",
      allowed: ["all", "-1"],
      reason: "a transaction needs the acknowledgement of every replica"
    ),
  ]
}

/// Which kind of librdkafka client has a property (column C/P of its CONFIGURATION.md).
enum KafkaPropertyScope: Equatable {
  case consumer
  case producer
  case both

  init(of name: String) {
    self =
      if Self.consumerOnly.contains(name) {
        .consumer
      } else if Self.producerOnly.contains(name) {
        .producer
      } else {
        .both
      }
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
