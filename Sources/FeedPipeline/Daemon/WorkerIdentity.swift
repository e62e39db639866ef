/// What Kafka knows a worker by.
struct WorkerIdentity: Sendable, Equatable {
  /// The number of the worker in this process, from 0.
  let number: Int
  /// How many workers the process has.
  let count: Int
  /// Tells this process from all others that run at the same time, and is the same after a restart.
  let process: ProcessIdentity
}
