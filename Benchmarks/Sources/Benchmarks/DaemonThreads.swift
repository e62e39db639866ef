/// Processor time of the daemon by the purpose of its threads, in nanoseconds, without the embedded broker.
struct DaemonThreads {
  /// librdkafka's threads of the consumer.
  var consumer: UInt64 = 0
  /// librdkafka's threads of the producer.
  var producer: UInt64 = 0
  /// The worker, and all other threads that are not librdkafka's.
  var worker: UInt64 = 0

  /// The time used between two samples of the threads; nil if the threads are not the expected ones.
  ///
  /// A thread does not reveal its client. But a worker creates its consumer before its producer, each with a thread
  /// `rdk:main`, and threads before the worker's belong to the embedded broker.
  init?(from before: [ThreadTime], to after: [ThreadTime]) {
    guard let worker = after.first(where: { $0.name == "worker-0" })?.id else { return nil }
    let mains = after.filter { $0.name == "rdk:main" && $0.id > worker }.map(\.id)
    guard mains.count == 2 else { return nil }
    let earlier = Dictionary(uniqueKeysWithValues: before.map { ($0.id, $0.nanoseconds) })
    for thread in after {
      let used = thread.nanoseconds - (earlier[thread.id] ?? 0)
      if !thread.name.hasPrefix("rdk:") {
        self.worker += used
      } else if thread.id > worker {
        if thread.id < mains[1] { consumer += used } else { producer += used }
      }
    }
  }
}
