/// What Kafka knows a worker by.
package struct WorkerIdentity: Sendable, Equatable {
  /// The number of the worker in this process, from 0.
  package let number: Int
  /// How many workers the process has.
  let count: Int
  /// Tells this process from all others that run at the same time, and is the same after a restart.
  let process: ProcessIdentity

  package init(number: Int, count: Int, process: ProcessIdentity) {
    self.number = number
    self.count = count
    self.process = process
  }
}
