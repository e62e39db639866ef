package import Changesets
package import FeedKafka
package import FeedStore
package import Kafka
import OperatingSystem
import Synchronization

/// The partitions and counters of a process's workers; readable on any thread at any time.
package final class DaemonStatus: Sendable {
  private struct State {
    var workers: [Int: WorkerStatus] = [:]
    var served = ServedPartitions()
    var standby: (any PartitionFollower)?
    var updater: ConfigurationUpdater?
    var tokens: TokenSource?
    var rejections = RecentRejections()
    /// Nil until a worker has found the topics.
    var topics: TopicChanges?
    var contents: ContentsStatistics?
  }

  private let state = Mutex(State())
  /// The outcomes of the records that clients write.
  package let writes: AwaitedWrites
  private let onServed: @Sendable (Set<Int32>) -> Void

  /// - Parameters:
  ///   - workers: the expected number of workers; more may report.
  ///   - written: the topic to which clients write; nil if they do not.
  ///   - onServed: called under a lock when the partitions to serve change: be quick, do not call back.
  package init(
    workers: Int = 1,
    written: String? = nil,
    onServed: @escaping @Sendable (Set<Int32>) -> Void = { _ in }
  ) {
    writes = AwaitedWrites(topic: written)
    self.onServed = onServed
    state.withLock { state in
      for number in 0..<workers { state.workers[number] = WorkerStatus(number: number) }
    }
  }

  /// The status of one worker.
  package func worker(_ number: Int) -> WorkerStatus {
    state.withLock { state in
      if let known = state.workers[number] { return known }
      let status = WorkerStatus(number: number)
      state.workers[number] = status
      return status
    }
  }

  /// The status of all workers, by number.
  package var workers: [WorkerStatus] {
    state.withLock { $0.workers.values.sorted { $0.number < $1.number } }
  }

  /// The sum of all workers' statistics.
  package var statistics: WorkerStatistics {
    workers.reduce(into: WorkerStatistics()) { $0.add($1.statistics) }
  }

  /// The follower of other partitions, if any.
  package var standby: (any PartitionFollower)? {
    get { state.withLock(\.standby) }
    set { state.withLock { $0.standby = newValue } }
  }

  /// The updater of the configuration, if any.
  package var updater: ConfigurationUpdater? {
    get { state.withLock(\.updater) }
    set { state.withLock { $0.updater = newValue } }
  }

  /// The source of tokens for the brokers, if any.
  package var tokens: TokenSource? {
    get { state.withLock(\.tokens) }
    set { state.withLock { $0.tokens = newValue } }
  }

  /// The contents that the process has read; nil before, or if items have no references.
  package var contents: ContentsStatistics? {
    get { state.withLock(\.contents) }
    set { state.withLock { $0.contents = newValue } }
  }

  package var rejections: RecentRejections { state.withLock(\.rejections) }

  package func owns(_ partition: Int32) -> Bool {
    workers.contains { $0.statistics.partitions.contains(partition) }
  }

  package func partitionCount(of topic: String) -> Int32 {
    state.withLock { $0.topics?.count(of: topic) ?? 0 }
  }

  package var topicChanges: [TopicChanges.Change] { state.withLock { $0.topics?.all ?? [] } }

  /// The topics as the first worker has found them.
  package func found(_ topics: TopicChanges) {
    state.withLock { if $0.topics == nil { $0.topics = topics } }
  }

  /// Records changes since then; nothing before the topics are found.
  package func changeTopics(
    _ note: (inout TopicChanges) -> [TopicChanges.Change]
  ) -> [TopicChanges.Change] {
    state.withLock { state in
      guard var topics = state.topics else { return [] }
      defer { state.topics = topics }
      return note(&topics)
    }
  }

  package var served: ServedPartitions { state.withLock(\.served) }

  /// A worker owns these partitions now. New ones are restored next.
  ///
  /// - Parameter isSettled: whether no partitions count as the worker's share.
  package func assigned(_ partitions: [TopicPartition], to worker: Int, isSettled: Bool = true) {
    let numbers = Set(partitions.map(\.partition))
    self.worker(worker).update {
      $0.restoring = $0.restoring.intersection(numbers).union(numbers.subtracting($0.partitions))
      $0.partitions = numbers
      $0.stopped.formIntersection(numbers)
      if !$0.restoring.isEmpty {
        $0.phase = .restoring
      } else {
        $0.phase = isSettled ? .running : .joining
      }
      $0.rebalances[.assigned, default: 0] += 1
    }
    changeServed { $0.assign(numbers, to: worker) }
  }

  /// The feeds of some partitions were restored.
  package func restored(_ partitions: Set<Int32>, by worker: Int) {
    self.worker(worker).update { $0.restoring.subtract(partitions) }
    changeServed { $0.restore(partitions, by: worker) }
  }

  /// - Parameter stopped: partitions that could not be restored.
  package func running(_ worker: Int, except stopped: Set<Int32> = []) {
    self.worker(worker).update {
      $0.stopped = stopped
      $0.restoring = []
      $0.phase = .running
    }
    changeServed { $0.run(worker, except: stopped) }
  }

  /// The partitions are the same, and their feeds are restored again.
  package func restoring(_ worker: Int) {
    writes.release(self.worker(worker).statistics.partitions)
    self.worker(worker).update {
      $0.phase = .restoring
      $0.restoring = $0.partitions
      $0.stopped = []
      $0.content = StoreContent()
      $0.inputLag = [:]
    }
  }

  /// A worker has given up or lost partitions.
  package func released(_ partitions: Set<Int32>, by worker: Int) {
    self.worker(worker).update {
      $0.partitions.subtract(partitions)
      $0.restoring.subtract(partitions)
      $0.stopped.subtract(partitions)
      if $0.partitions.isEmpty {
        $0.phase = .joining
        $0.restore.abandon()
      }
      $0.inputLag = $0.inputLag.filter { !partitions.contains($0.key.partition) }
    }
    writes.release(partitions)
    changeServed { $0.release(partitions, by: worker) }
  }

  /// - Parameter rejected: the rejected records whose copies were committed.
  package func committed(_ counters: StoreCounters, rejected: [RejectedRecord] = [], by worker: Int) {
    self.worker(worker).update { $0.counters = counters }
    if !rejected.isEmpty { state.withLock { $0.rejections.add(rejected, at: WallClock.milliseconds()) } }
  }

  package func lags(_ lag: [TopicPartition: Int64], of worker: Int) {
    self.worker(worker).update { $0.inputLag = lag }
  }

  /// The lock is held until the end, so that changes are reported in order.
  private func changeServed(_ change: (inout ServedPartitions) -> Void) {
    state.withLock { state in
      let before = state.served.served
      change(&state.served)
      if state.served.served != before { onServed(state.served.served) }
    }
  }
}

/// The contents that a process has read.
package struct ContentsStatistics: Sendable, Equatable {
  package var count = 0
  /// Bytes of their ids and values.
  package var bytes = 0
  /// Records of their topic.
  package var records = 0
  /// Records that were not valid contents.
  package var rejected = 0
  /// The number of records left before the workers may serve restored partitions.
  package var remaining: Int64 = 0

  package init() {}
}

/// The newest records that a process has rejected, oldest first, with the beginnings of their keys and values.
package struct RecentRejections: Sendable {
  package struct Entry: Sendable {
    /// When the copy was committed, in milliseconds since 1970.
    package let time: Int64
    /// Contains at most ``RecentRejections/keptBytes`` of its key and of its value.
    package let record: RejectedRecord
    /// The size of the whole value; nil for a null.
    package let valueBytes: Int?
  }

  package static let limit = 100
  package static let keptBytes = 4096

  package private(set) var entries: [Entry] = []

  package init() {}

  /// Adds records that were rejected together, in their order.
  package mutating func add(_ records: [RejectedRecord], at time: Int64) {
    for record in records.suffix(Self.limit) {
      var short = record
      short.key = record.key.map { Array($0.prefix(Self.keptBytes)) }
      short.value = record.value.map { Array($0.prefix(Self.keptBytes)) }
      entries.append(Entry(time: time, record: short, valueBytes: record.value?.count))
    }
    entries.removeFirst(max(0, entries.count - Self.limit))
  }
}

/// The served partitions of the changesets topic, as the group assigns and revokes them.
///
/// A partition that moves between workers of this process is served throughout: until every worker has seen the new
/// assignment. A new partition is served once its feeds are restored.
package struct ServedPartitions: Sendable, Equatable {
  private struct Share: Equatable {
    var partitions: Set<Int32> = []
    /// The partitions whose feeds are restored.
    var restored: Set<Int32> = []
    /// The partitions that could not be restored.
    var stopped: Set<Int32> = []

    var readable: Set<Int32> { partitions.subtracting(stopped) }
  }

  private var shares: [Int: Share] = [:]
  /// Partitions that a worker has given up, with the number of assignments until each worker knows their owner.
  private var leaving: [Int32: [Int: Int]] = [:]
  package private(set) var served: Set<Int32> = []

  /// Whether every worker knows its share and has restored all of it.
  package var isSettled: Bool {
    !shares.isEmpty
      && shares.values.allSatisfy { $0.stopped.isEmpty && $0.restored == $0.partitions }
  }

  /// A worker owns these partitions now. New ones are restored next.
  package mutating func assign(_ partitions: Set<Int32>, to worker: Int) {
    var share = shares[worker] ?? Share()
    share.partitions = partitions
    share.restored.formIntersection(partitions)
    share.stopped.formIntersection(partitions)
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
  package mutating func restore(_ partitions: Set<Int32>, by worker: Int) {
    shares[worker]?.restored.formUnion(partitions)
    shares[worker]?.stopped.subtract(partitions)
    update()
  }

  /// A worker has restored the feeds of all partitions, except of stopped ones.
  package mutating func run(_ worker: Int, except stopped: Set<Int32> = []) {
    guard var share = shares[worker] else { return }
    share.stopped = stopped
    share.restored = share.readable
    shares[worker] = share
    update()
  }

  /// A worker has given up partitions. The next rebalance assigns them, with an assignment to every worker.
  package mutating func release(_ partitions: Set<Int32>, by worker: Int) {
    guard var share = shares[worker] else { return }
    share.partitions.subtract(partitions)
    share.restored.subtract(partitions)
    share.stopped.subtract(partitions)
    shares[worker] = share
    for partition in partitions {
      leaving[partition] = Dictionary(uniqueKeysWithValues: shares.keys.map { ($0, $0 == worker ? 2 : 1) })
    }
  }

  private mutating func update() {
    served.formUnion(shares.values.reduce(into: Set()) { $0.formUnion($1.restored.subtracting($1.stopped)) })
    let owned = shares.values.reduce(into: Set()) { $0.formUnion($1.readable) }
    served.formIntersection(owned.union(leaving.keys))
  }
}
