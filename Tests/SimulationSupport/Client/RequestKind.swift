/// What clients ask brokers for.
public enum RequestKind: String, CaseIterable, Sendable {
  case metadata, findCoordinator, initProducer, addPartition, produce, addOffsets, commitOffsets,
    endTransaction
  case joinGroup, syncGroup, heartbeat, leaveGroup, fetchOffsets, listOffsets, fetch, describeGroup
}
