extension Consumer {
  /// The id of the cluster from the last metadata response; nil if there was none, or the brokers are older than 0.10.
  /// Does not block.
  ///
  /// - Throws: `_DESTROY` if the consumer is closed.
  public func clusterID() throws(KafkaError) -> String? {
    ClientHandle.clusterID(try client("read the cluster's id"))
  }
}
