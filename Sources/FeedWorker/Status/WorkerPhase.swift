/// How far a worker is in taking its share of the work.
package enum WorkerPhase: String, CaseIterable, Sendable {
  /// It looks for the topics.
  case starting
  /// The group has not given it its share, or has taken it away.
  case joining
  /// Feeds of its partitions are restored.
  case restoring
  /// It has what the group gave it, be that nothing.
  case running
}
