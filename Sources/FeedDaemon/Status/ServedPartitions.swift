/// Which partitions of the changesets topic are served, as the group gives them to this process's workers and
/// takes them away.
///
/// In a rebalance every worker gives up what it has and is given its new share, mostly the same. What is served
/// does not blink meanwhile: a partition goes when all workers know their shares and none has it, and comes
/// when its feeds are restored.
package struct ServedPartitions: Sendable, Equatable {
  private struct Share: Equatable {
    var partitions: Set<Int32> = []
    /// Those of them that could not be restored.
    var stopped: Set<Int32> = []
    /// Whether they are what the worker has now, rather than what it had.
    var isCurrent = false
    var isRunning = false

    var readable: Set<Int32> { partitions.subtracting(stopped) }
  }

  private var shares: [Int: Share] = [:]
  /// The partitions to serve.
  package private(set) var served: Set<Int32> = []

  /// Whether every worker knows its share and has restored all of it.
  package var isSettled: Bool {
    !shares.isEmpty
      && shares.values.allSatisfy {
        $0.isCurrent && $0.stopped.isEmpty && ($0.isRunning || $0.partitions.isEmpty)
      }
  }

  /// A worker was given partitions, whose feeds are restored next.
  mutating func assign(_ partitions: Set<Int32>, to worker: Int) {
    shares[worker] = Share(partitions: partitions, isCurrent: true)
    update()
  }

  /// A worker has restored its feeds, except those of partitions where that cannot be done.
  mutating func run(_ worker: Int, except stopped: Set<Int32> = []) {
    shares[worker]?.isRunning = true
    shares[worker]?.stopped = stopped
    update()
  }

  /// A worker has lost its partitions, and will be told what it has.
  mutating func release(_ worker: Int) {
    shares[worker]?.isCurrent = false
    shares[worker]?.isRunning = false
  }

  private mutating func update() {
    let ready = shares.values.filter(\.isRunning).reduce(into: Set()) { $0.formUnion($1.readable) }
    served.formUnion(ready)
    guard shares.values.allSatisfy(\.isCurrent) else { return }
    let owned = shares.values.reduce(into: Set()) { $0.formUnion($1.readable) }
    served.formIntersection(owned)
  }
}
