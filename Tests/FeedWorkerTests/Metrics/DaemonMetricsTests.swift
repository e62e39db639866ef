import Diagnostics
import FeedStore
import FeedTestSupport
import HTTP
import Testing

@testable import FeedStatus

@Suite struct DaemonMetricsTests {
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

  @Test func `docs/monitor.md has every metric with its type`() throws {
    let package = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    let page = String(decoding: try readFile("/\(package)/docs/monitor.md"), as: UTF8.self)
    var documented: [String] = []
    for line in page.split(separator: "\n") where line.hasPrefix("| `feedstore_") {
      let cells = line.split(separator: "|").map { $0.filter { $0 != " " } }
      for name in cells[0].split(separator: ",") { documented.append("\(cells[1]) \(name)") }
    }
    let suffixes = ["counter": "_total", "info": "_info"]
    let declared = MetricTable.declared.filter { !$0.name.hasPrefix("process_") }.map { metric in
      "\(metric.kind.rawValue) `\(metric.name)\(suffixes[metric.kind.rawValue] ?? "")`"
    }
    #expect(documented.sorted() == declared.sorted())
  }
}
