import CRdkafka

@testable public import Kafka

/// Faults of an embedded cluster. Broker nil means all brokers, leader nil none.
extension EmbeddedCluster {
  /// Makes the next requests of one kind fail, one by one, on any broker.
  ///
  /// `transport` closes the connection instead of sending a response.
  public func pushRequestErrors(_ kind: RequestKind, _ errors: [KafkaErrorCode]) throws(KafkaError) {
    try cause { cluster in
      let codes = errors.map(\.librdkafka)
      rd_kafka_mock_push_request_errors_array(cluster, kind.rawValue, codes.count, codes)
    }
  }

  /// Drops unused errors for one kind of request.
  public func clearRequestErrors(_ kind: RequestKind) throws(KafkaError) {
    try cause { rd_kafka_mock_clear_request_errors($0, kind.rawValue) }
  }

  /// Delays one broker's next response to one kind of request, optionally with an error.
  public func delayRequest(
    _ kind: RequestKind,
    broker: Int32,
    milliseconds: Int32,
    error: KafkaErrorCode? = nil
  ) throws(KafkaError) {
    let code = error?.librdkafka ?? RD_KAFKA_RESP_ERR_NO_ERROR
    try call("delay a request") {
      feedstore_mock_delay_request($0, broker, kind.rawValue, code, milliseconds)
    }
  }

  /// Makes every metadata and add-partitions request for a topic fail; nil ends that.
  public func setTopicError(_ topic: String, _ error: KafkaErrorCode?) throws(KafkaError) {
    let code = error?.librdkafka ?? RD_KAFKA_RESP_ERR_NO_ERROR
    try cause { rd_kafka_mock_topic_set_error($0, topic, code) }
  }

  /// Closes a broker's connections and refuses new ones.
  public func setBrokerDown(_ broker: Int32?) throws(KafkaError) {
    try call("take down a broker") { rd_kafka_mock_broker_set_down($0, broker ?? -1) }
  }

  /// Accepts connections to a broker again.
  public func setBrokerUp(_ broker: Int32?) throws(KafkaError) {
    try call("bring up a broker") { rd_kafka_mock_broker_set_up($0, broker ?? -1) }
  }

  /// Delays a broker's responses to all requests.
  public func setRoundTrip(_ broker: Int32?, milliseconds: Int32) throws(KafkaError) {
    try call("slow down a broker") { rd_kafka_mock_broker_set_rtt($0, broker ?? -1, milliseconds) }
  }

  public func setLeader(_ partition: TopicPartition, broker: Int32?) throws(KafkaError) {
    try call("set the leader of \(partition)") {
      rd_kafka_mock_partition_set_leader($0, partition.topic, partition.partition, broker ?? -1)
    }
  }

  /// Makes a broker the coordinator of a group or a transactional id, which need not exist.
  public func setCoordinator(_ key: CoordinatorKey, broker: Int32) throws(KafkaError) {
    try call("set a coordinator") {
      switch key {
      case .group(let name): rd_kafka_mock_coordinator_set($0, "group", name, broker)
      case .transaction(let name): rd_kafka_mock_coordinator_set($0, "transaction", name, broker)
      }
    }
  }

  private func cause(_ body: (OpaquePointer) -> Void) throws(KafkaError) {
    try call("cause a fault") {
      body($0)
      return RD_KAFKA_RESP_ERR_NO_ERROR
    }
  }

  /// A kind of request of the Kafka protocol, by its API key.
  public enum RequestKind: Int16, Sendable {
    case produce = 0
    case fetch, listOffsets, metadata
    case offsetCommit = 8
    case offsetFetch, findCoordinator, joinGroup, heartbeat, leaveGroup, syncGroup
    case initProducerID = 22
    case addPartitionsToTxn = 24
    case addOffsetsToTxn, endTxn
    case txnOffsetCommit = 28
  }

  /// The client of a coordinator.
  public enum CoordinatorKey: Sendable {
    /// By its `group.id`.
    case group(String)
    /// By its `transactional.id`.
    case transaction(String)
  }
}
