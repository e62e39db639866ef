import CRdkafka
import Synchronization

/// A Kafka cluster inside the process, for tests and `--embedded`: librdkafka's mock cluster.
///
/// Its brokers listen on ports of localhost, so any client can use them. What it is not: it keeps 5 MiB
/// and 100,000 record sets of a partition and drops the oldest; it accepts transactions but hides and
/// aborts nothing, and drops the offsets sent to them; it refuses commits of offsets during a rebalance;
/// it creates topics that a client asks for by name, with 4 partitions; the first join of a group takes 3
/// s; it has no admin calls. It proves error paths, not exactly-once.
///
/// Call `stop` at the end, for example in a `defer`: as with every object, the last use of it may
/// otherwise be the reading of its address.
public final class EmbeddedCluster: Sendable {
  /// The value of `bootstrap.servers` for clients of this cluster.
  public let bootstrapServers: String

  /// The number of brokers; their ids are 1, 2, ….
  public let brokerCount: Int

  /// nil once stopped. Under the lock, as the cluster must not go while a call is on its way.
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
    self.brokerCount = brokerCount
    running = Mutex(Running(cluster: cluster, handle: handle))
  }

  deinit {
    stop()
  }

  /// Ends the cluster and closes its connections; stopping again does nothing.
  public func stop() {
    running.withLock { running in
      guard let ended = running.take() else { return }
      rd_kafka_mock_cluster_destroy(ended.cluster)
      ended.handle.destroy(timeoutMilliseconds: 10_000)
    }
  }

  /// Creates a topic; its records are gone with the cluster.
  ///
  /// - Parameters:
  ///   - partitions: the number of partitions, at least 1.
  ///   - replication: the number of brokers that hold each, at most all.
  public func createTopic(_ name: String, partitions: Int32, replication: Int32 = 1) throws(KafkaError) {
    try call("create topic \(name) with \(partitions) partitions") {
      rd_kafka_mock_topic_create($0, name, partitions, replication)
    }
  }

  /// Makes the next requests of one kind fail, one after the other, whichever broker they go to.
  ///
  /// `transport` closes the connection instead of answering.
  public func pushRequestErrors(_ kind: RequestKind, _ errors: [KafkaErrorCode]) throws(KafkaError) {
    try call("push errors for \(kind) requests") { cluster in
      let codes = errors.map(\.librdkafka)
      rd_kafka_mock_push_request_errors_array(cluster, kind.rawValue, codes.count, codes)
      return RD_KAFKA_RESP_ERR_NO_ERROR
    }
  }

  /// Forgets errors that were pushed for one kind of request and have not been used.
  public func clearRequestErrors(_ kind: RequestKind) throws(KafkaError) {
    try call("clear errors for \(kind) requests") { cluster in
      rd_kafka_mock_clear_request_errors(cluster, kind.rawValue)
      return RD_KAFKA_RESP_ERR_NO_ERROR
    }
  }

  /// Makes one broker's next request of one kind answer late, and with an error if one is given.
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

  /// Makes every metadata and add-partitions request for a topic answer with an error; nil ends it.
  public func setTopicError(_ topic: String, _ error: KafkaErrorCode?) throws(KafkaError) {
    try call("set the error of topic \(topic)") { cluster in
      rd_kafka_mock_topic_set_error(cluster, topic, error?.librdkafka ?? RD_KAFKA_RESP_ERR_NO_ERROR)
      return RD_KAFKA_RESP_ERR_NO_ERROR
    }
  }

  /// Cuts a broker's connections and refuses new ones; nil means all brokers.
  public func setBrokerDown(_ broker: Int32?) throws(KafkaError) {
    try call("take down broker \(broker ?? -1)") { rd_kafka_mock_broker_set_down($0, broker ?? -1) }
  }

  /// Lets a broker accept connections again; nil means all brokers.
  public func setBrokerUp(_ broker: Int32?) throws(KafkaError) {
    try call("bring up broker \(broker ?? -1)") { rd_kafka_mock_broker_set_up($0, broker ?? -1) }
  }

  /// Makes a broker take this long to answer any request; nil means all brokers.
  public func setRoundTrip(_ broker: Int32?, milliseconds: Int32) throws(KafkaError) {
    try call("slow down broker \(broker ?? -1)") {
      rd_kafka_mock_broker_set_rtt($0, broker ?? -1, milliseconds)
    }
  }

  /// Makes a broker the leader of a partition; nil leaves it without a leader.
  public func setLeader(_ partition: TopicPartition, broker: Int32?) throws(KafkaError) {
    try call("set the leader of \(partition)") {
      rd_kafka_mock_partition_set_leader($0, partition.topic, partition.partition, broker ?? -1)
    }
  }

  /// Makes a broker the coordinator of a group or of a transactional id; it need not exist.
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
}
