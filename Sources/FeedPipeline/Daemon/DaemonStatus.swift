import FeedStore
import Kafka
import Synchronization

/// What the workers of a process have and have done, for whoever asks at any time.
final class DaemonStatus: Sendable {
  private struct Worker {
    var counters = StoreCounters()
    /// Input records that are not published, by partition number.
    var inputLag: [Int32: Int64] = [:]
  }

  private struct State {
    var workers: [Int: Worker] = [:]
    var served = ServedPartitions()
  }

  private let state = Mutex(State())
  private let onServed: @Sendable (Set<Int32>) -> Void

  /// - Parameter onServed: told the partitions to serve when they change, under a lock: be quick, and do not call
  ///   back.
  init(onServed: @escaping @Sendable (Set<Int32>) -> Void = { _ in }) { self.onServed = onServed }

  /// What all workers have done.
  var counters: StoreCounters {
    state.withLock { $0.workers.values.reduce(StoreCounters()) { $0.adding($1.counters) } }
  }

  /// Input records that are not published yet, by partition number, both topics together, where that is known.
  var inputLag: [Int32: Int64] {
    state.withLock { $0.workers.values.reduce(into: [:]) { $0.merge($1.inputLag) { $1 } } }
  }

  /// The partitions to serve.
  var served: ServedPartitions { state.withLock(\.served) }

  func assigned(_ partitions: [TopicPartition], to worker: Int) {
    changeServed { $0.assign(Set(partitions.map(\.partition)), to: worker) }
  }

  /// - Parameter stopped: partitions that could not be restored.
  func running(_ worker: Int, except stopped: Set<Int32> = []) {
    changeServed { $0.run(worker, except: stopped) }
  }

  func released(_ worker: Int) {
    state.withLock { $0.workers[worker]?.inputLag = [:] }
    changeServed { $0.release(worker) }
  }

  func committed(_ counters: StoreCounters, by worker: Int) {
    state.withLock { $0.workers[worker, default: Worker()].counters = counters }
  }

  func lags(_ lag: [Int32: Int64], of worker: Int) {
    state.withLock { $0.workers[worker, default: Worker()].inputLag = lag }
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
