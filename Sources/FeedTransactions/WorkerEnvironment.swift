package import Changesets
package import FeedKafka
package import FeedStatus
package import FeedStore
import Kafka
package import Service

/// The clients, clocks and reports that the workers of a process share.
package struct WorkerEnvironment: Sendable {
  /// Makes the workers' clients and tells the time; the simulation has others.
  package var clients: any WorkerClients = KafkaClients()
  /// Knows what restorations can continue from; nil if nothing does.
  package var standby: (any PartitionFollower)?
  package let stop: StopRequest
  package private(set) var log: Log
  package let rejectedLimit = RejectedRecordLimit()
  /// Counts the state of all workers.
  package let stateBudget = StateBudget()
  /// Where the process is to end without warning, in tests.
  package var crash: CrashInjection?
  /// Told what the workers have and have done.
  package let status: DaemonStatus
  /// Told what is read of the input, if producers are to wait for that.
  package var backlog: InputBacklog?
  /// Milliseconds of the monotonic clock, looked at before every record; not exact.
  package var coarseClock: @Sendable () -> Int64 = MonotonicClock.coarseMilliseconds
  /// Milliseconds since 1970, looked at once a poll.
  package var wallClock: @Sendable () -> Int64 = WallClock.milliseconds
  package var onEvent: @Sendable (DaemonEvent) -> Void = { _ in }

  package init(_ status: DaemonStatus, stop: StopRequest, log: Log) {
    self.status = status
    self.stop = stop
    self.log = log
  }

  /// Milliseconds of a clock that never goes back.
  package func milliseconds() -> Int64 { clients.milliseconds() }

  /// The same with fields in every line of its log.
  package func logging(_ fields: LogFields) -> WorkerEnvironment {
    var environment = self
    environment.log = log.with(fields)
    return environment
  }
}
