package import Diagnostics
import Feed
package import FeedConfiguration
import FeedIngest
import FeedStore
import Kafka
import OperatingSystem

/// `feedstore ingest --dry-run`: what the first records of each source become.
package enum IngestPreview {
  /// Of each partition.
  private static let recordCount: Int64 = 10
  private static let patienceMilliseconds: Int64 = 10_000

  /// - Parameter write: takes lines; false ends it.
  package static func run(
    _ configuration: FeedStoreConfiguration,
    log: Log,
    write: @escaping @Sendable (String) -> Bool
  ) async throws {
    try await WorkerThread.withKafka("preview", configuration) { settings in
      let (limits, schemas) = (configuration.store.limits, SchemaRegistry(configuration.ingest.schemas))
      for (number, source) in configuration.ingest.sources.enumerated() {
        let topic = (source.topic, "ingest.sources[\(number)].topic")
        let reader = try TopicReader(
          settings,
          configuration,
          topic: topic,
          patienceMilliseconds: patienceMilliseconds,
          log: log
        )
        defer { try? reader.close() }
        let mapper = RowMapper(source, number: number, limits, SentSections(), schemas)
        var ranges: [Int32: Range<Int64>] = [:]
        guard let count = try reader.partitionCountIfKnown() else {
          if write("\(source.topic): the topic does not exist yet, or may not be read") { continue }
          return
        }
        for partition in 0..<count {
          let ends = try reader.watermarks(partition)
          ranges[partition] = ends.low..<min(ends.high, ends.low + recordCount)
        }
        try reader.read(ranges) { message in
          let outcome = mapper.map(
            key: message.key.map { ByteSpan($0) },
            value: message.payload.map { ByteSpan($0) }
          ) { message.headers().contains { $0.name == RowMapper.rekeyedHeader } }
          var line = "\(source.topic)/\(message.partition)/\(message.offset): \(outcome.name)"
          if case .rejected(let rejection) = outcome { line += ", \(rejection.message)" }
          if case .unavailable(let reason) = outcome { line += ", \(reason)" }
          for index in 0..<mapper.recordCount {
            let (key, value) = mapper.record(index)
            line += " \(key.text) \(value?.text ?? "null")"
          }
          return write(UpdateText.printable(line))
        }
      }
    }
  }
}
