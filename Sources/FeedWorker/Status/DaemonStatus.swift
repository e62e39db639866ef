import FeedStore
import Kafka
import Service
import Synchronization

/// What the workers of a process have and have done, for whoever asks at any time.
package final class DaemonStatus: Sendable {
  private struct State {
    var workers: [Int: WorkerStatus] = [:]
    var served = ServedPartitions()
    var standby: (any PartitionFollower)?
    var rejections = RecentRejections()
    /// Nil until a worker has found the topics.
    var topics: TopicChanges?
  }

  private let state = Mutex(State())
  private let onServed: @Sendable (Set<Int32>) -> Void

  /// - Parameters:
  ///   - workers: how many there are to be; others may tell something all the same.
  ///   - onServed: told the partitions to serve when they change, under a lock: be quick, and do not call back.
  package init(workers: Int = 1, onServed: @escaping @Sendable (Set<Int32>) -> Void = { _ in }) {
    self.onServed = onServed
    state.withLock { state in
      for number in 0..<workers { state.workers[number] = WorkerStatus(number: number) }
    }
  }

  /// A worker's own.
  func worker(_ number: Int) -> WorkerStatus {
    state.withLock { state in
      if let known = state.workers[number] { return known }
      let status = WorkerStatus(number: number)
      state.workers[number] = status
      return status
    }
  }

  /// All workers', by number.
  package var workers: [WorkerStatus] {
    state.withLock { $0.workers.values.sorted { $0.number < $1.number } }
  }

  /// What all workers have and have done, together.
  package var figures: WorkerFigures {
    workers.reduce(into: WorkerFigures()) { $0.add($1.figures) }
  }

  /// What follows the partitions that the workers do not have; nil if nothing does.
  package var standby: (any PartitionFollower)? {
    get { state.withLock(\.standby) }
    set { state.withLock { $0.standby = newValue } }
  }

  /// The newest rejected records.
  package var rejections: RecentRejections { state.withLock(\.rejections) }

  /// Topics whose number of partitions has changed.
  package var topicChanges: [TopicChanges.Change] { state.withLock { $0.topics?.all ?? [] } }

  /// The topics as the first worker has found them.
  func found(_ topics: TopicChanges) {
    state.withLock { if $0.topics == nil { $0.topics = topics } }
  }

  /// Notes what has changed since; nothing before the topics are found.
  func changeTopics(
    _ note: (inout TopicChanges) -> [TopicChanges.Change]
  ) -> [TopicChanges.Change] {
    state.withLock { state in
      guard var topics = state.topics else { return [] }
      defer { state.topics = topics }
      return note(&topics)
    }
  }

  /// The partitions to serve.
  package var served: ServedPartitions { state.withLock(\.served) }

  /// A worker has these partitions now. Those that it did not have before are restored next.
  ///
  /// - Parameter isSettled: whether it is to be taken for its share if there are none.
  func assigned(_ partitions: [TopicPartition], to worker: Int, isSettled: Bool = true) {
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

  /// Feeds of partitions are restored, and perhaps not yet those of others.
  func restored(_ partitions: Set<Int32>, by worker: Int) {
    self.worker(worker).update { $0.restoring.subtract(partitions) }
    changeServed { $0.restore(partitions, by: worker) }
  }

  /// - Parameter stopped: partitions that could not be restored.
  func running(_ worker: Int, except stopped: Set<Int32> = []) {
    self.worker(worker).update {
      $0.stopped = stopped
      $0.restoring = []
      $0.phase = .running
    }
    changeServed { $0.run(worker, except: stopped) }
  }

  /// The partitions are the same, and their feeds are restored once more.
  func restoring(_ worker: Int) {
    self.worker(worker).update {
      $0.phase = .restoring
      $0.restoring = $0.partitions
      $0.stopped = []
      $0.content = StoreContent()
      $0.inputLag = [:]
    }
  }

  /// A worker has given up partitions, or lost them.
  func released(_ partitions: Set<Int32>, by worker: Int) {
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
    changeServed { $0.release(partitions, by: worker) }
  }

  /// A worker has no partitions any more, and will be told what it has.
  func released(_ worker: Int) {
    self.worker(worker).update {
      $0.phase = .joining
      $0.partitions = []
      $0.restoring = []
      $0.stopped = []
      $0.inputLag = [:]
      $0.content = StoreContent()
      $0.restore.abandon()
    }
    changeServed { $0.release(worker) }
  }

  /// - Parameter rejected: the rejected records whose copies were committed.
  func committed(_ counters: StoreCounters, rejected: [RejectedRecord] = [], by worker: Int) {
    self.worker(worker).update { $0.counters = counters }
    if !rejected.isEmpty { state.withLock { $0.rejections.add(rejected, at: WallClock.milliseconds()) } }
  }

  func lags(_ lag: [TopicPartition: Int64], of worker: Int) {
    self.worker(worker).update { $0.inputLag = lag }
  }

  /// In the lock to its end, so that changes are told in their order.
  private func changeServed(_ change: (inout ServedPartitions) -> Void) {
    state.withLock { state in
      let before = state.served.served
      change(&state.served)
      if state.served.served != before { onServed(state.served.served) }
    }
  }
}
