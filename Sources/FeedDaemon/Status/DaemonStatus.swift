import FeedStore
import Kafka
import Service
import Synchronization

/// What the workers of a process have and have done, for whoever asks at any time.
package final class DaemonStatus: Sendable {
  private struct State {
    var workers: [Int: WorkerStatus] = [:]
    var served = ServedPartitions()
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

  /// The partitions to serve.
  package var served: ServedPartitions { state.withLock(\.served) }

  func assigned(_ partitions: [TopicPartition], to worker: Int) {
    let numbers = Set(partitions.map(\.partition))
    self.worker(worker).update {
      $0.partitions = numbers
      $0.stopped = []
      $0.phase = numbers.isEmpty ? .running : .restoring
      $0.rebalances[.assigned, default: 0] += 1
    }
    changeServed { $0.assign(numbers, to: worker) }
  }

  /// - Parameter stopped: partitions that could not be restored.
  func running(_ worker: Int, except stopped: Set<Int32> = []) {
    self.worker(worker).update {
      $0.stopped = stopped
      $0.phase = .running
    }
    changeServed { $0.run(worker, except: stopped) }
  }

  /// The partitions are the same, and their feeds are restored once more.
  func restoring(_ worker: Int) {
    self.worker(worker).update {
      $0.phase = .restoring
      $0.stopped = []
      $0.content = StoreContent()
      $0.inputLag = [:]
    }
  }

  func released(_ worker: Int) {
    self.worker(worker).update {
      $0.phase = .joining
      $0.partitions = []
      $0.stopped = []
      $0.inputLag = [:]
      $0.content = StoreContent()
      $0.restore.abandon()
    }
    changeServed { $0.release(worker) }
  }

  func committed(_ counters: StoreCounters, by worker: Int) {
    self.worker(worker).update { $0.counters = counters }
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
