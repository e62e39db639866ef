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
