package import Diagnostics
package import FeedConfiguration
package import OperatingSystem

/// `feedstore publish`: sends replay files to their topics.
package struct FilePublisher: Sendable {
  package var configuration: FeedStoreConfiguration
  /// Files in order; `-` is standard input.
  package var inputs: [String]
  /// The speed, as a multiple of the recorded one; nil for as fast as possible.
  package var speed: Double?
  package var stop: StopRequest
  package var log: Log
  package var showsProgress = true

  package init(
    _ configuration: FeedStoreConfiguration,
    inputs: [String],
    speed: Double?,
    stop: StopRequest,
    log: Log
  ) {
    self.configuration = configuration
    self.inputs = inputs
    self.speed = speed
    self.stop = stop
    self.log = log
  }

  /// Sends everything and waits until it is delivered.
  ///
  /// - Throws: ``ReplayError`` for a file or a line; ``DaemonError`` for a topic or the brokers;
  ///   ``ConfigurationError``.
  package func run() async throws -> PublishReport {
    try await WorkerThread.withKafka("publisher", configuration) { try PublishRun(self, $0).run() }
  }
}

/// The result of `feedstore publish`.
package struct PublishReport: Sendable, Equatable {
  /// Records sent, including undelivered ones.
  package internal(set) var records = 0
  /// Records that could not be delivered.
  package internal(set) var undelivered = 0
  /// Bytes of keys and values.
  package internal(set) var bytes = 0
  package internal(set) var topics: [String: Int] = [:]
  package internal(set) var nanoseconds: Int64 = 0
  /// Whether a stop was requested before the end of the input.
  package internal(set) var isInterrupted = false

  package init() {}

  /// Whether everything was sent and delivered.
  package var isComplete: Bool { undelivered == 0 && !isInterrupted }

  /// The sum of two runs.
  package func adding(_ other: PublishReport) -> PublishReport {
    var sum = self
    sum.records += other.records
    sum.undelivered += other.undelivered
    sum.bytes += other.bytes
    sum.topics.merge(other.topics) { $0 + $1 }
    sum.nanoseconds += other.nanoseconds
    sum.isInterrupted = isInterrupted || other.isInterrupted
    return sum
  }

  /// The report as text, for standard error.
  package var text: String {
    var table = ReportTable("publish")
    table.add("records", count: records)
    for (topic, count) in topics.sorted(by: { $0.key < $1.key }) { table.add(topic, count: count) }
    table.add("undelivered", count: undelivered)
    table.add("bytes", bytes: bytes)
    table.add("time", nanoseconds: nanoseconds)
    table.add("rate", count: records, perNanoseconds: nanoseconds)
    let confirmed = Quantity.count(records - undelivered)
    return table.text
      + (isInterrupted ? "interrupted before the end of the input; confirmed records: \(confirmed)\n" : "")
  }
}
