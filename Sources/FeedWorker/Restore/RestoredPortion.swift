import FeedKafka
import Kafka

/// What one reading brought.
struct RestoredPortion {
  var records = 0
  var bytes = 0
  /// Of each partition of which something came: everything before this was read.
  var positions: [Int32: Int64] = [:]
  /// Partitions of which a record is none or does not fit; they are not read on.
  var unreadable: [Int32: DaemonError] = [:]
  /// What went wrong and does not pass by itself, of one partition perhaps: what was read counts all the same, as an
  /// end of a partition is told once.
  var failure: KafkaError?

  /// Notes what came besides records, after these.
  mutating func note(_ event: ConsumerEvent) {
    switch event {
    case .endOfPartition(_, let partition, let offset):
      positions[partition] = max(positions[partition] ?? 0, offset)
    case .error(let error):
      if !error.isRetriable, failure == nil { failure = error }
    }
  }
}
