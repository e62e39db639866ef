import Feed

/// What the followed partitions have in common with others of the process, who read the same topic.
extension FeedBoard {
  /// The feeds of a partition as they are now; nil if it is not followed, or if a store cannot continue from them.
  func share(_ number: Int32) -> SharedPartition? {
    withState { state in
      state.partitions[number]?.share { body in self.withState { _ in body() } }
    }
  }

  /// Keeps what somebody else has read of a partition, in case it is followed next.
  ///
  /// - Parameters:
  ///   - position: everything before this offset was read.
  ///   - replicas: the feeds. Whoever has them may go on using them.
  func adopt(_ number: Int32, at position: Int64, from replicas: ReplicaPartition) {
    if withState({ $0.partitions[number] != nil }) { return }
    let shared = replicas.share(isLocked: false) { body in self.withState { _ in body() } }
    // Nobody else has it.
    nonisolated(unsafe) let own = ReplicaPartition(sharing: shared, isLocked: true)
    withState { $0.adopted[number] = AdoptedPartition(position: position, replicas: own) }
  }

  /// Forgets what was kept of a partition in case it is followed.
  func forgetAdopted(_ number: Int32) { withState { $0.adopted[number] = nil } }

  /// How far each partition was followed, sorted by number.
  var progress: [PartitionProgress] {
    withState { $0.partitions.values.map(\.progress) }.sorted { $0.number < $1.number }
  }
}
