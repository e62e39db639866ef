import Feed
public import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
public import Service

/// `feedstore rejects list`: the records of the rejected topic, a line each.
public struct RejectedListing: Sendable {
  public var configuration: PipelineConfiguration
  /// Those with this code only; nil for all.
  public var code: String?
  /// Those of this time or later only, in milliseconds since 1970; nil for all.
  public var sinceMilliseconds: Int64?
  /// Whether lines are JSON, for programs.
  public var isJSON: Bool
  public var log: Log
  /// Takes text to print; returns whether anybody reads it still.
  public var write: @Sendable (String) -> Bool

  /// The codes that the daemon gives.
  public static var knownCodes: [String] { RejectCode.allCases.map(\.rawValue) }

  public init(
    _ configuration: PipelineConfiguration,
    isJSON: Bool,
    log: Log,
    write: @escaping @Sendable (String) -> Bool
  ) {
    self.configuration = configuration
    self.isJSON = isJSON
    self.log = log
    self.write = write
  }

  /// Reads every partition from its beginning to the end that it has now, one after the other.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the topic is not there, or nothing comes of it.
  public func run() async throws -> RejectedReport {
    let settings = try KafkaSettings(configuration)
    return try await WorkerThread.withKafka("rejects") {
      let reader = try RejectedReader(settings, configuration, log: log)
      defer { reader.close() }
      return try read(reader)
    }
  }

  private func read(_ reader: RejectedReader) throws -> RejectedReport {
    var report = RejectedReport()
    var isRead = true
    for partition in 0..<(try reader.partitionCount()) where isRead {
      let marks = try reader.watermarks(partition)
      try reader.read(partition, from: marks.low, to: marks.high) { message in
        let copy = RejectedCopy(message)
        guard isWanted(copy) else { return true }
        report.count(copy)
        isRead = write(isJSON ? RejectedLine.json(copy) : RejectedLine.text(copy))
        return isRead
      }
    }
    return report
  }

  private func isWanted(_ copy: RejectedCopy) -> Bool {
    if let code, copy.code != code { return false }
    if let sinceMilliseconds, copy.timestampMilliseconds < sinceMilliseconds { return false }
    return true
  }
}
