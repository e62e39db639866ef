/// What a rebalance of the group did with a worker's partitions.
enum RebalanceKind: String, CaseIterable, Sendable {
  case assigned
  /// They were given up in order.
  case revoked
  /// Others may have had them already.
  case lost
}
