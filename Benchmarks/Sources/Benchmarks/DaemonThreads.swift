/// Processor time of the daemon by what its threads are for, in nanoseconds; without the embedded broker.
struct DaemonThreads {
  /// librdkafka's threads of the consumer.
  var consumer: UInt64 = 0
  /// librdkafka's threads of the producer.
  var producer: UInt64 = 0
  /// The worker, and with it whatever else is not librdkafka's.
  var worker: UInt64 = 0

  /// What was used between two looks at the threads; nil if they are not those that are expected.
  ///
  /// A thread does not tell whose it is. But a worker makes its consumer first and then its producer, each of
  /// them with a thread `rdk:main`, and what comes before the worker is the embedded broker's.
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
