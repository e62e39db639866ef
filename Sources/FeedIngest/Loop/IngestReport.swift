import Feed
import FeedStore
import Service

/// What has become of the rows of each source.
package struct IngestReport: Sendable {
  private let topics: [String]
  /// For each source the rows, by the names of their outcomes.
  private var counts: [[String: Int]]
  private var transactions = 0
  /// The first rejected record of each code.
  private(set) var examples: [RejectedRecord] = []

  init(_ topics: [String]) {
    self.topics = topics
    counts = topics.map { _ in [:] }
  }

  mutating func removeAll() { self = IngestReport(topics) }

  mutating func add(_ outcome: RowMapper.Outcome, of source: Int) {
    counts[source][outcome.name, default: 0] += 1
  }

  mutating func add(_ rejected: RejectedRecord) {
    let isKnown = examples.contains { $0.rejection.code == rejected.rejection.code }
    if !isKnown { examples.append(rejected) }
  }

  /// Adds what was committed, and logs what was rejected.
  mutating func add(_ committed: IngestReport, _ log: Log) {
    transactions += 1
    for source in counts.indices { counts[source].merge(committed.counts[source], uniquingKeysWith: +) }
    for record in committed.examples {
      log.write(
        .ingestRejected,
        "rows could not be mapped",
        [
          "topic": String(decoding: record.topic, as: UTF8.self), "partition": record.partition,
          "offset": record.offset, "code": record.rejection.code.rawValue, "reason": record.rejection.message,
        ]
      )
    }
  }

  /// For the metrics of a daemon.
  var counters: StoreCounters {
    var counters = StoreCounters()
    for code in RejectCode.allCases {
      counters.rejects[code] = self.counts.reduce(0) { $0 + ($1[code.rawValue] ?? 0) }
    }
    return counters
  }

  /// Logs the counts of each source, and whether nothing of it has become an item, which is probably a mistake.
  func log(_ log: Log) {
    for (topic, counts) in zip(topics, counts) where !counts.isEmpty {
      let isFruitless = counts[RowMapper.Outcome.upserted.name] == nil
      log.write(
        isFruitless ? .ingestNothingMapped : .ingestProgress,
        isFruitless
          ? "no row has become an item; look for a mistake in the templates or in where" : "rows mapped",
        ["topic": topic, "rows": Self.text(counts)]
      )
    }
  }

  private static func text(_ counts: [String: Int]) -> String {
    let parts = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
      "\($0.key) \(Quantity.count($0.value))"
    }
    return parts.isEmpty ? "none" : parts.joined(separator: ", ")
  }

  /// The report as text, for standard error.
  package var text: String {
    var table = ReportTable("ingest")
    for (topic, counts) in zip(topics, counts) { table.add(topic, text: Self.text(counts)) }
    table.add("transactions", count: transactions)
    return table.text
  }
}
