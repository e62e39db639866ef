import Feed
public import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
public import Service

/// `feedstore rejects list`: lists the records of the rejected topic, one per line.
public struct RejectedListing: Sendable {
  public var configuration: FeedStoreConfiguration
  /// List only records with this code; nil for all.
  public var code: String?
  /// List only records from this time on, in milliseconds since 1970; nil for all.
  public var sinceMilliseconds: Int64?
  /// Whether lines are JSON.
  public var isJSON: Bool
  public var log: Log
  /// Prints text; returns false if the reader has closed the output.
  public var write: @Sendable (String) -> Bool

  /// The codes that the daemon uses.
  public static var knownCodes: [String] { RejectCode.allCases.map(\.rawValue) }

  public init(
    _ configuration: FeedStoreConfiguration,
    isJSON: Bool,
    log: Log,
    write: @escaping @Sendable (String) -> Bool
  ) {
    self.configuration = configuration
    self.isJSON = isJSON
    self.log = log
    self.write = write
  }

  /// Reads each partition from its beginning to its current end, one after the other.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the topic does not exist or sends nothing.
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
