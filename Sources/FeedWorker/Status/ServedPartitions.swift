/// Which partitions of the changesets topic are served, as the group gives them to this process's workers and
/// takes them away.
///
/// What stays in the process is served without a break, whichever worker has it: a partition that one has given up is served
/// until all workers have heard who has it, and one that all workers have lost, until they have been given their new shares.
/// A partition comes when its feeds are restored.
package struct ServedPartitions: Sendable, Equatable {
  private struct Share: Equatable {
    var partitions: Set<Int32> = []
    /// Those of them whose feeds are restored.
    var restored: Set<Int32> = []
    /// Those of them that could not be restored.
    var stopped: Set<Int32> = []
    /// Whether they are what the worker has now, rather than what it had.
    var isCurrent = false

    var readable: Set<Int32> { partitions.subtracting(stopped) }
  }

  private var shares: [Int: Share] = [:]
  /// Partitions that a worker has given up, and by worker the assignments that have to come before all have heard who
  /// has them.
  private var leaving: [Int32: [Int: Int]] = [:]
  /// The partitions to serve.
  package private(set) var served: Set<Int32> = []

  /// Whether every worker knows its share and has restored all of it.
  package var isSettled: Bool {
    !shares.isEmpty
      && shares.values.allSatisfy { $0.isCurrent && $0.stopped.isEmpty && $0.restored == $0.partitions }
  }

  /// A worker was given partitions, and has these now. Those it did not have are restored next.
  mutating func assign(_ partitions: Set<Int32>, to worker: Int) {
    var share = shares[worker] ?? Share()
    share.partitions = partitions
    share.restored.formIntersection(partitions)
    share.stopped.formIntersection(partitions)
    share.isCurrent = true
    shares[worker] = share
    for (partition, awaited) in leaving {
      var awaited = awaited
      awaited[worker] = awaited[worker].map { $0 - 1 }
      leaving[partition] =
        partitions.contains(partition) || awaited.values.allSatisfy { $0 <= 0 } ? nil : awaited
    }
    update()
  }

  /// A worker has restored the feeds of some partitions.
  mutating func restore(_ partitions: Set<Int32>, by worker: Int) {
    shares[worker]?.restored.formUnion(partitions)
    shares[worker]?.stopped.subtract(partitions)
    update()
  }

  /// A worker has restored its feeds, except those of partitions where that cannot be done.
  mutating func run(_ worker: Int, except stopped: Set<Int32> = []) {
    guard var share = shares[worker] else { return }
    share.stopped = stopped
    share.restored = share.readable
    shares[worker] = share
    update()
  }

  /// A worker has given up partitions. Whoever has them next is told so in the rebalance after the one under way, by an
  /// assignment to every worker.
  mutating func release(_ partitions: Set<Int32>, by worker: Int) {
    guard var share = shares[worker] else { return }
    share.partitions.subtract(partitions)
    share.restored.subtract(partitions)
    share.stopped.subtract(partitions)
    shares[worker] = share
    for partition in partitions {
      leaving[partition] = Dictionary(uniqueKeysWithValues: shares.keys.map { ($0, $0 == worker ? 2 : 1) })
    }
  }

  /// A worker has lost its partitions, and will be told what it has.
  mutating func release(_ worker: Int) {
    shares[worker]?.isCurrent = false
    shares[worker]?.restored = []
  }

  private mutating func update() {
    served.formUnion(shares.values.reduce(into: Set()) { $0.formUnion($1.restored.subtracting($1.stopped)) })
    guard shares.values.allSatisfy(\.isCurrent) else { return }
    let owned = shares.values.reduce(into: Set()) { $0.formUnion($1.readable) }
    served.formIntersection(owned.union(leaving.keys))
  }
}
