import CRdkafka
import Synchronization

/// A Kafka cluster inside the process, for tests and `--embedded`: librdkafka's mock cluster.
///
/// Its brokers listen on ports of localhost, so any client can use them. Its limits: it keeps 5 MiB and 100,000 record
/// sets of a partition and drops the oldest; it accepts transactions but neither hides nor aborts records, and ignores
/// the offsets sent to them; it rejects offset commits during a rebalance; it creates topics that a client requests by
/// name, with 4 partitions; the first join of a group takes 3 s; it has no admin requests. It tests error paths, not
/// exactly-once delivery.
///
/// Call `stop` at the end, for example in a `defer`: otherwise the last use of the object may be reading its address,
/// after which it is released.
public final class EmbeddedCluster: Sendable {
  /// The value of `bootstrap.servers` for clients of this cluster.
  public let bootstrapServers: String

  /// The number of brokers; their ids are 1, 2, ….
  public let brokerCount: Int

  /// Whether a cluster's id, which librdkafka chooses, is that of an embedded one.
  static func isID(_ id: String?) -> Bool { id?.hasPrefix("mockCluster") == true }

  /// nil after stop. Locked, so that the cluster is not destroyed during a call.
  private let running: Mutex<Running?>

  private struct Running: ~Copyable {
    let cluster: OpaquePointer
    let handle: ClientHandle
  }

  /// Starts a cluster.
  ///
  /// - Parameter log: receives librdkafka's log lines, on its threads.
  public init(brokerCount: Int = 1, log: @escaping KafkaLogHandler) throws(KafkaError) {
    let handle = try ClientHandle(RD_KAFKA_PRODUCER, KafkaConfiguration(), log: log) { _ in }
    guard
      let cluster = rd_kafka_mock_cluster_new(handle.client, Int32(brokerCount)),
      let servers = rd_kafka_mock_cluster_bootstraps(cluster)
    else {
      throw .make(.state, "start an embedded cluster of \(brokerCount) brokers")
    }
    bootstrapServers = String(cString: servers)
    for server in bootstrapServers.split(separator: ",") {
      // As of 2.0.2 the brokers leave Nagle's algorithm on, which holds answers back for 40 ms.
      server.split(separator: ":").last.flatMap { UInt16($0) }.map { feedstore_mock_send_at_once($0) }
    }
    self.brokerCount = brokerCount
    running = Mutex(Running(cluster: cluster, handle: handle))
  }

  deinit { stop() }

  /// Stops the cluster and closes its connections; a second call does nothing.
  public func stop() {
    running.withLock { running in
      guard let ended = running.take() else { return }
      rd_kafka_mock_cluster_destroy(ended.cluster)
      ended.handle.destroy(timeoutMilliseconds: 10_000)
    }
  }

  /// Creates a topic. Its records are lost when the cluster stops.
  ///
  /// - Parameters:
  ///   - partitions: the number of partitions, at least 1.
  ///   - replication: the number of replicas of each partition, at most the number of brokers.
  public func createTopic(_ name: String, partitions: Int32, replication: Int32 = 1) throws(KafkaError) {
    try call("create topic \(name) with \(partitions) partitions") {
      rd_kafka_mock_topic_create($0, name, partitions, replication)
    }
  }

  /// Makes the next requests of one kind fail, one by one, on any broker.
  ///
  /// `transport` closes the connection instead of sending a response.
  public func pushRequestErrors(_ kind: RequestKind, _ errors: [KafkaErrorCode]) throws(KafkaError) {
    try call("push errors for \(kind) requests") { cluster in
      let codes = errors.map(\.librdkafka)
      rd_kafka_mock_push_request_errors_array(cluster, kind.rawValue, codes.count, codes)
      return RD_KAFKA_RESP_ERR_NO_ERROR
    }
  }

  /// Drops unused errors for one kind of request.
  public func clearRequestErrors(_ kind: RequestKind) throws(KafkaError) {
    try call("clear errors for \(kind) requests") { cluster in
      rd_kafka_mock_clear_request_errors(cluster, kind.rawValue)
      return RD_KAFKA_RESP_ERR_NO_ERROR
    }
  }

  /// Delays one broker's next response to one kind of request, optionally with an error.
  public func delayRequest(
    _ kind: RequestKind,
    broker: Int32,
    milliseconds: Int32,
    error: KafkaErrorCode? = nil
  ) throws(KafkaError) {
    try call("delay a \(kind) request at broker \(broker)") {
      feedstore_mock_delay_request(
        $0,
        broker,
        kind.rawValue,
        error?.librdkafka ?? RD_KAFKA_RESP_ERR_NO_ERROR,
        milliseconds
      )
    }
  }

  /// Makes every metadata and add-partitions request for a topic fail; nil ends that.
  public func setTopicError(_ topic: String, _ error: KafkaErrorCode?) throws(KafkaError) {
    try call("set the error of topic \(topic)") { cluster in
      rd_kafka_mock_topic_set_error(cluster, topic, error?.librdkafka ?? RD_KAFKA_RESP_ERR_NO_ERROR)
      return RD_KAFKA_RESP_ERR_NO_ERROR
    }
  }

  /// Closes a broker's connections and refuses new ones; nil for all brokers.
  public func setBrokerDown(_ broker: Int32?) throws(KafkaError) {
    try call("take down broker \(broker ?? -1)") { rd_kafka_mock_broker_set_down($0, broker ?? -1) }
  }

  /// Accepts connections to a broker again; nil for all brokers.
  public func setBrokerUp(_ broker: Int32?) throws(KafkaError) {
    try call("bring up broker \(broker ?? -1)") { rd_kafka_mock_broker_set_up($0, broker ?? -1) }
  }

  /// Delays a broker's responses to all requests; nil for all brokers.
  public func setRoundTrip(_ broker: Int32?, milliseconds: Int32) throws(KafkaError) {
    try call("slow down broker \(broker ?? -1)") {
      rd_kafka_mock_broker_set_rtt($0, broker ?? -1, milliseconds)
    }
  }

  /// Makes a broker the leader of a partition; nil for no leader.
  public func setLeader(_ partition: TopicPartition, broker: Int32?) throws(KafkaError) {
    try call("set the leader of \(partition)") {
      rd_kafka_mock_partition_set_leader($0, partition.topic, partition.partition, broker ?? -1)
    }
  }

  /// Makes a broker the coordinator of a group or a transactional id, which need not exist.
  public func setCoordinator(_ key: CoordinatorKey, broker: Int32) throws(KafkaError) {
    let (type, name) =
      switch key {
      case .group(let name): ("group", name)
      case .transaction(let name): ("transaction", name)
      }
    try call("set the coordinator of \(type) \(name)") {
      rd_kafka_mock_coordinator_set($0, type, name, broker)
    }
  }

  private func call(
    _ action: @autoclosure () -> String,
    _ body: (OpaquePointer) -> rd_kafka_resp_err_t
  ) throws(KafkaError) {
    let code = running.withLock { running in
      switch running {
      case .some(let running): body(running.cluster)
      case .none: RD_KAFKA_RESP_ERR__DESTROY
      }
    }
    try KafkaError.check(code, action())
  }

  /// A kind of request of the Kafka protocol, by its API key.
  public enum RequestKind: Int16, Sendable, CaseIterable {
    case produce = 0
    case fetch = 1
    case listOffsets = 2
    case metadata = 3
    case offsetCommit = 8
    case offsetFetch = 9
    case findCoordinator = 10
    case joinGroup = 11
    case heartbeat = 12
    case leaveGroup = 13
    case syncGroup = 14
    case initProducerID = 22
    case addPartitionsToTxn = 24
    case addOffsetsToTxn = 25
    case endTxn = 26
    case txnOffsetCommit = 28
  }

  /// The client of a coordinator.
  public enum CoordinatorKey: Sendable, Hashable {
    /// A group, by its `group.id`.
    case group(String)
    /// A producer, by its `transactional.id`.
    case transaction(String)
  }
}
