import CRdkafka

extension Consumer {
  /// The id of the cluster from the last metadata response; nil if there was none, or the brokers are older than 0.10.
  /// Does not block.
  ///
  /// - Throws: `_DESTROY` if the consumer is closed.
  public func clusterID() throws(KafkaError) -> String? {
    let client = try client("read the cluster's id")
    guard let text = rd_kafka_clusterid(client, 0) else { return nil }
    defer { rd_kafka_mem_free(client, text) }
    return String(cString: text)
  }
}
