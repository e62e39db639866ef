package import Feed

extension ChangesetLog {
  /// Replicas after all changesets, read as by the daemon.
  package func replicas() -> sending ReplicaPartition {
    // There is no other reference.
    nonisolated(unsafe) let replicas = ReplicaPartition(describesChanges: false)
    visit { key, value in
      do throws(ReplicaFault) {
        switch try replicas.apply(key: key, value: value) {
        case .applied, .removed, .skipped, .waitingForParts: break
        case let outcome: preconditionFailure("a changeset did not fit: \(outcome)")
        }
      } catch {
        preconditionFailure("a changeset could not be read: \(error)")
      }
    }
    return replicas
  }
}
