import CRdkafka

extension KafkaErrorCode {
  /// Whether an error with this code is usually transient, if librdkafka does not say.
  var isUsuallyRetriable: Bool {
    switch librdkafka {
    case RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, RD_KAFKA_RESP_ERR__QUEUE_FULL,
      RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__RESOLVE,
      RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR__WAIT_CACHE, RD_KAFKA_RESP_ERR__IN_PROGRESS,
      RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS, RD_KAFKA_RESP_ERR__OUTDATED, RD_KAFKA_RESP_ERR__RETRY,
      RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
      RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
      RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
      RD_KAFKA_RESP_ERR_NOT_CONTROLLER, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
      RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT,
      RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
      true
    default:
      false
    }
  }

  /// What to do about an error with this code; nil if there is nothing to add.
  var remedy: String? {
    switch librdkafka {
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
      "check that the brokers are up, or allow more time"
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
      "poll the producer and produce again, or raise queue.buffering.max.messages"
    case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
      "check bootstrap.servers, the network, and that the brokers are up"
    case RD_KAFKA_RESP_ERR__RESOLVE:
      "check the host names in bootstrap.servers"
    case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__SSL:
      "check security.protocol and the sasl.* and ssl.* properties"
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
      "check that the partition's leader is up, or raise message.timeout.ms"
    case RD_KAFKA_RESP_ERR__UNKNOWN_GROUP:
      "set group.id"
    case RD_KAFKA_RESP_ERR__NOT_CONFIGURED:
      "set transactional.id"
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
      "poll more often, or raise max.poll.interval.ms"
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
      RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      "create the topic, or check its name and its number of partitions"
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      "raise message.max.bytes here and max.message.bytes of the topic, or send less"
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      "raise segment.bytes of the topic to at least the size of a record"
    case RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
      "see the broker's log for what it refuses"
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      "raise message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic, or send other times"
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
      "raise message.format.version of the topic"
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      "grant the client's user the access it needs"
    case RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
      RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
      "another producer with this transactional.id has taken over: close this one"
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
      "give each member a group.instance.id of its own"
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      "lower transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers"
    case RD_KAFKA_RESP_ERR__DESTROY:
      "the client is closed: make a new one"
    default:
      nil
    }
  }
}
