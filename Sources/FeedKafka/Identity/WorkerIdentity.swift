/// A worker's identity towards Kafka.
package struct WorkerIdentity: Sendable, Equatable {
  /// The number of the worker in this process, from 0.
  package let number: Int
  /// The number of workers in the process.
  let count: Int
  /// The process's id, unique among running processes and unchanged by a restart.
  let process: ProcessIdentity

  package init(number: Int, count: Int, process: ProcessIdentity) {
    self.number = number
    self.count = count
    self.process = process
  }
}
