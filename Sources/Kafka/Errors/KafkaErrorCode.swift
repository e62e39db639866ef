import CRdkafka

/// An error number of librdkafka or of the Kafka protocol, with its stable name.
///
/// Negative numbers are librdkafka's own and have names that begin with an underscore (`_TIMED_OUT`);
/// positive ones are the protocol's, as a broker sent them (`UNKNOWN_TOPIC_OR_PART`).
public struct KafkaErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: Int32

  public init(rawValue: Int32) { self.rawValue = rawValue }

  init(_ code: rd_kafka_resp_err_t) { rawValue = code.rawValue }

  var librdkafka: rd_kafka_resp_err_t { rd_kafka_resp_err_t(rawValue: rawValue) }

  /// librdkafka's name of the code, without the prefix `RD_KAFKA_RESP_ERR_`.
  public var name: String { String(cString: rd_kafka_err2name(librdkafka)) }

  public var description: String { name }

  public static let timedOut = Self(RD_KAFKA_RESP_ERR__TIMED_OUT)
  /// The producer's queue is full: poll, then produce again.
  public static let queueFull = Self(RD_KAFKA_RESP_ERR__QUEUE_FULL)
  public static let transport = Self(RD_KAFKA_RESP_ERR__TRANSPORT)
  /// The client dropped the broker while it waited for a response, because metadata no longer list it (`_DESTROY_BROKER`, since 2.10).
  static let brokerDropped = Self(rawValue: -137)
  public static let allBrokersDown = Self(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
  /// A record was not delivered within `message.timeout.ms`.
  public static let messageTimedOut = Self(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
  /// An argument or a configuration property is not valid.
  public static let invalidArgument = Self(RD_KAFKA_RESP_ERR__INVALID_ARG)
  /// The call is not allowed in the client's state, for example a commit without a transaction.
  public static let state = Self(RD_KAFKA_RESP_ERR__STATE)
  /// The cause is in the program, or in a service that it uses, and not in Kafka.
  public static let application = Self(RD_KAFKA_RESP_ERR__APPLICATION)
  public static let closed = Self(RD_KAFKA_RESP_ERR__DESTROY)
  public static let fatal = Self(RD_KAFKA_RESP_ERR__FATAL)
  /// A newer producer with the same `transactional.id` has taken over.
  public static let fenced = Self(RD_KAFKA_RESP_ERR__FENCED)
  /// The owner did not poll within `max.poll.interval.ms` and has left the group.
  public static let maxPollExceeded = Self(RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED)
  /// The requested offset is out of range, and `auto.offset.reset` is `error`.
  public static let autoOffsetReset = Self(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
  public static let unknownPartition = Self(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
  public static let unknownTopic = Self(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
  public static let unknownTopicOrPartition = Self(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
  public static let topicAlreadyExists = Self(RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
  /// The brokers do not know this kind of request.
  public static let unsupportedFeature = Self(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE)
  public static let unknown = Self(RD_KAFKA_RESP_ERR_UNKNOWN)
  /// The record is larger than the client or the broker accepts.
  public static let messageTooLarge = Self(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
  /// The batch of records is larger than a segment of the topic.
  public static let recordListTooLarge = Self(RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE)
  /// The broker rejects the record, for example one without a key in a compacted topic.
  public static let invalidRecord = Self(RD_KAFKA_RESP_ERR_INVALID_RECORD)
  /// The topic rejects the record's timestamp.
  public static let invalidTimestamp = Self(RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP)
  public static let policyViolation = Self(RD_KAFKA_RESP_ERR_POLICY_VIOLATION)
  /// The topic's message format is too old for the request.
  public static let unsupportedForMessageFormat = Self(RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT)
  public static let tls = Self(RD_KAFKA_RESP_ERR__SSL)
  public static let authentication = Self(RD_KAFKA_RESP_ERR__AUTHENTICATION)
  public static let notCoordinator = Self(RD_KAFKA_RESP_ERR_NOT_COORDINATOR)
  public static let coordinatorNotAvailable = Self(RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE)
  /// The producer's epoch is outdated: a newer producer has taken over.
  public static let invalidProducerEpoch = Self(RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH)
  /// The group does not know the consumer as a member, or no longer.
  public static let unknownMember = Self(RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID)
  /// The group has a newer generation.
  public static let illegalGeneration = Self(RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION)
  public static let topicAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
  public static let groupAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
  public static let transactionalIDAuthorizationFailed = Self(
    RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
  )
  public static let clusterAuthorizationFailed = Self(RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
  /// `transaction.timeout.ms` exceeds the brokers' maximum.
  public static let invalidTransactionTimeout = Self(RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT)
  public static let unsupportedVersion = Self(RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION)
  /// The committed offsets belong to a transaction that is still open.
  public static let unstableOffsetCommit = Self(RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT)
  public static let coordinatorLoading = Self(RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS)
  /// The broker did not finish in time; the request may have taken effect.
  public static let requestTimedOut = Self(RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT)
  public static let leaderNotAvailable = Self(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
  public static let notLeader = Self(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION)
  /// Fewer replicas are in sync than the topic requires; nothing was written.
  public static let notEnoughReplicas = Self(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS)
  /// Fewer replicas are in sync than the topic requires; the leader has written the record.
  public static let notEnoughReplicasAfterAppend = Self(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND)
  /// The producer's previous transaction has not finished yet.
  public static let concurrentTransactions = Self(RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS)
  /// A newer producer with the same `transactional.id` has taken over.
  public static let producerFenced = Self(RD_KAFKA_RESP_ERR_PRODUCER_FENCED)
  /// The request is not allowed in the transaction's state.
  public static let invalidTransactionState = Self(RD_KAFKA_RESP_ERR_INVALID_TXN_STATE)
  /// The members of the group use different assignment strategies.
  public static let inconsistentGroupProtocol = Self(RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL)
  /// Another member with the same `group.instance.id` has taken over.
  public static let fencedInstance = Self(RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)

  /// Whether an error with this code is usually transient, unless librdkafka reports it.
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
      RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
      Self.brokerDropped.librdkafka:
      true
    default: false
    }
  }

  /// The remedy for an error with this code, if there is one.
  ///
  /// - Parameter action: the attempted action, which needs a right.
  func remedy(for action: String) -> String? {
    switch librdkafka {
    case RD_KAFKA_RESP_ERR__TIMED_OUT: "check that the brokers are up, or allow more time"
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
      "poll the producer and produce again, or raise queue.buffering.max.messages"
    case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
      "check bootstrap.servers, the network, and that the brokers are up"
    case RD_KAFKA_RESP_ERR__RESOLVE: "check the host names in bootstrap.servers"
    case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__SSL:
      "check security.protocol and the sasl.* and ssl.* properties"
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
      "check that the topic exists, or create it again, and that the partition's leader is up; or raise message.timeout.ms"
    case RD_KAFKA_RESP_ERR__UNKNOWN_GROUP: "set group.id"
    case RD_KAFKA_RESP_ERR__NOT_CONFIGURED: "set transactional.id"
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED: "poll more often, or raise max.poll.interval.ms"
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
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT: "raise message.format.version of the topic"
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      "grant the client's user \(Self.topicRight(for: action)) on the topic"
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED: "grant the client's user READ on the group"
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      "grant the client's user WRITE on the transactional id"
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      "grant the client's user WRITE on the topic (before Kafka 3.0, IDEMPOTENT_WRITE on the cluster), or to create topics CREATE"
    case RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
      RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
      "another producer with this transactional.id has taken over: close this one"
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID: "give each member a different group.instance.id"
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      "lower transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers"
    case RD_KAFKA_RESP_ERR__DESTROY: "the client is closed: make a new one"
    default: nil
    }
  }

  private static func topicRight(for action: String) -> String {
    switch action.split(separator: " ").first {
    case "deliver"?, "produce"?, "commit"?: "WRITE"
    case "create"?: "CREATE"
    case _ where action.contains("settings"): "DESCRIBE_CONFIGS"
    default: action.contains("metadata") ? "DESCRIBE" : "READ"
    }
  }
}
