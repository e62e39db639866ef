import FeedStore
package import FeedWorker
import Service

/// Tells what has become of the rows of each source: a minute after the start, as a mistake in the mapping shows soon, and then more
/// and more rarely. Time is a parameter.
struct RowReport {
  private var interval: Int64 = 60_000
  private var next: Int64

  /// - Parameter now: milliseconds of the clock that is used later as well.
  init(at now: Int64) { next = now + interval }

  /// Logs the counts of each source if they are due, and whether nothing of it has become an item, which is probably a mistake.
  mutating func log(_ rows: [String: [String: Int]], at now: Int64, _ log: Log) {
    guard now >= next else { return }
    interval = min(10 * interval, 3_600_000)
    next += interval
    for (topic, counts) in rows.sorted(by: { $0.key < $1.key }) {
      let isFruitless = counts[RowMapper.Outcome.upserted.name] == nil
      log.write(
        isFruitless ? .ingestNothingMapped : .ingestProgress,
        isFruitless
          ? "no row has become an item; look for a mistake in the templates or in where" : "rows mapped",
        ["topic": topic, "rows": Self.text(counts)]
      )
    }
  }

  fileprivate static func text(_ counts: [String: Int]) -> String {
    counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.key) \(Quantity.count($0.value))" }.joined(separator: ", ")
  }
}

extension WorkerStatistics {
  /// What `feedstore ingest` has done, for standard error.
  package var ingestText: String {
    var table = ReportTable("ingest")
    for (topic, counts) in rows.sorted(by: { $0.key < $1.key }) {
      table.add(topic, text: RowReport.text(counts))
    }
    table.add("transactions", count: transactions[.committed] ?? 0)
    return table.text
  }
}
