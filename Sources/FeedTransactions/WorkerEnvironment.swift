package import Changesets
package import Diagnostics
package import FeedKafka
package import FeedStatus
package import FeedStore
package import OperatingSystem

/// The clients, clocks and reports that the workers of a process share.
package struct WorkerEnvironment: Sendable {
  /// Creates the workers' clients and provides the time; the simulation replaces it.
  package var clients: any WorkerClients = KafkaClients()
  /// Holds followed partitions from which restorations can continue; nil if there are none.
  package var standby: (any PartitionFollower)?
  /// Reads the contents that items refer to; nil if items have no references.
  package var contents: ContentsReader?
  package let stop: StopRequest
  package private(set) var log: Log
  package let rejectedLimit = RejectedRecordLimit()
  /// Counts the memory of all workers' state.
  package let stateBudget = StateBudget()
  /// Where tests end the process without warning.
  package var crash: CrashInjection?
  /// Receives the workers' state and counters.
  package let status: DaemonStatus
  /// Receives the positions of the input, if producers wait for them.
  package var backlog: InputBacklog?
  /// Milliseconds of the monotonic clock, read before every record; not exact.
  package var coarseClock: @Sendable () -> Int64 = MonotonicClock.coarseMilliseconds
  /// Milliseconds since 1970, read once per poll.
  package var wallClock: @Sendable () -> Int64 = WallClock.milliseconds
  package var onEvent: @Sendable (DaemonEvent) -> Void = { _ in }

  package init(_ status: DaemonStatus, stop: StopRequest, log: Log) {
    self.status = status
    self.stop = stop
    self.log = log
  }

  /// Milliseconds of a clock that never goes back.
  package func milliseconds() -> Int64 { clients.milliseconds() }

  /// A copy that adds fields to every line of its log.
  package func logging(_ fields: LogFields) -> WorkerEnvironment {
    var environment = self
    environment.log = log.with(fields)
    return environment
  }
}
