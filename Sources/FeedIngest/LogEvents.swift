package import Diagnostics

/// The events of `feedstore ingest`.
extension LogEvent {
  package static let ingestTopicMissing = LogEvent(.warning, "ingest.topic-missing")
  package static let ingestRejected = LogEvent(.warning, "ingest.rejected")
  package static let ingestProgress = LogEvent(.info, "ingest.progress")
  package static let ingestNothingMapped = LogEvent(.warning, "ingest.nothing-mapped")
  package static let ingestSchemaUnavailable = LogEvent(.warning, "ingest.schema-unavailable")
  package static let ingestOrderByBytes = LogEvent(.warning, "ingest.order-by-bytes")
}
