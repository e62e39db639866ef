import FeedStore
import Service
import Testing

@testable import FeedWorker

@Suite struct IngestedRowsTests {
  @Test func `rows are counted by source and outcome, and rejections by code as well`() {
    let status = DaemonStatus(workers: 2)
    status.worker(0).update { $0.add(["a": ["upserted": 5, "unmappable": 1], "b": ["unmappable": 2]]) }
    status.worker(0).update { $0.add(["a": ["upserted": 1, "invalid-json": 1]]) }
    status.worker(1).update { $0.add(["a": ["upserted": 10]]) }
    let health = status.health(at: 0, longestSilence: .max, isStopping: false)
    #expect(
      health.rows == ["a": ["upserted": 16, "unmappable": 1, "invalid-json": 1], "b": ["unmappable": 2]]
    )
    let metrics = DaemonMetrics(
      status: status,
      topics: TopicNames(),
      stateLimit: 0,
      sharedIDs: nil,
      health: { health },
      http: { HTTPCounters() }
    )
    let text = MetricsText.write(metrics.families, .prometheus)
    for line in [
      "feedstore_ingest_rows_total{topic=\"a\",outcome=\"upserted\"} 16",
      "feedstore_ingest_rows_total{topic=\"b\",outcome=\"unmappable\"} 2",
      "feedstore_rejected_records_total{code=\"unmappable\"} 3",
      "feedstore_rejected_records_total{code=\"invalid-json\"} 1",
    ] {
      #expect(text.contains(line + "\n"), "\(line)")
    }
  }
}
