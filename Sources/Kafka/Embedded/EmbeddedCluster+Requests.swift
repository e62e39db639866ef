extension EmbeddedCluster {
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
