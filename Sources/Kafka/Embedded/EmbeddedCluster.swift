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
/// Call `stop` at the end, for example in a `defer`: otherwise the object may be released after the last use of its
/// address.
public final class EmbeddedCluster: Sendable {
  /// The value of `bootstrap.servers` for clients of this cluster.
  public let bootstrapServers: String

  /// Whether a cluster's id, which librdkafka chooses, belongs to an embedded cluster.
  static func isID(_ id: String?) -> Bool { id?.hasPrefix("mockCluster") == true }

  /// nil after stop. Locked, so that the cluster is not destroyed during a call.
  private let running: Mutex<Running?>

  private struct Running: ~Copyable {
    let cluster: OpaquePointer
    let handle: ClientHandle
  }

  /// Starts a cluster.
  ///
  /// - Parameters:
  ///   - brokerCount: the number of brokers; their ids are 1, 2, ….
  ///   - log: receives librdkafka's log lines, on its threads.
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
      // As of 2.0.2 the brokers use Nagle's algorithm, which delays answers by 40 ms.
      server.split(separator: ":").last.flatMap { UInt16($0) }.map { feedstore_mock_send_at_once($0) }
    }
    running = Mutex(Running(cluster: cluster, handle: handle))
  }

  deinit { stop() }

  /// Stops the cluster and closes its connections; a second call has no effect.
  public func stop() {
    running.withLock { running in
      guard let ended = running.take() else { return }
      rd_kafka_mock_cluster_destroy(ended.cluster)
      ended.handle.destroy(timeoutMilliseconds: 10_000)
    }
  }

  /// Creates a topic. Its records are lost when the cluster stops.
  ///
  /// - Parameter partitions: the number of partitions, at least 1.
  public func createTopic(_ name: String, partitions: Int32) throws(KafkaError) {
    try call("create topic \(name) with \(partitions) partitions") {
      rd_kafka_mock_topic_create($0, name, partitions, 1)
    }
  }

  /// Calls librdkafka with the running cluster.
  ///
  /// - Throws: `_DESTROY` if the cluster was stopped; the code that the call returns.
  func call(
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
