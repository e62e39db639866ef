import Diagnostics
import Synchronization
import Testing

@testable import FeedIngest

@Suite struct RowReportTests {
  /// What is logged at a time, as `EVENT TOPIC ROWS`.
  private struct Report {
    var report = RowReport()

    mutating func callAsFunction(_ rows: [String: [String: Int]], at now: Int64) -> [String] {
      let lines = Mutex<[String]>([])
      let output = DiagnosticOutput(isTerminal: false) { line in lines.withLock { $0.append(line) } }
      report.log(rows, at: now, Log(output: output))
      return lines.withLock { $0 }.compactMap { line in
        line.firstRange(of: "event=").map { line[$0.upperBound...].trimmingSuffix { $0.isNewline } }
      }.map(String.init)
    }
  }

  @Test func `a minute after its first rows, a source of which nothing has become an item is warned of`() {
    var report = Report()
    let rows = ["orders": ["upserted": 2, "unmappable": 1], "typo": ["filtered": 1_200, "unmappable": 3]]
    #expect(report(["orders": ["upserted": 1], "typo": ["filtered": 1]], at: 1_000).isEmpty)
    #expect(report(rows, at: 60_999).isEmpty)
    #expect(
      report(rows, at: 61_000) == [
        "ingest.progress topic=orders rows=\"upserted 2, unmappable 1\"",
        "ingest.nothing-mapped topic=typo rows=\"filtered 1,200, unmappable 3\"",
      ]
    )
  }

  @Test func `the counts are logged after ten more minutes, and then every hour`() {
    var report = Report()
    let rows = ["orders": ["upserted": 1]]
    let minutes: [Int64] = [0, 1, 2, 10, 11, 12, 70, 71, 130, 131]
    #expect(
      minutes.filter { !report(rows, at: 1_000 + $0 * 60_000).isEmpty } == [1, 11, 71, 131]
    )
  }

  @Test func `a source whose rows come later has a minute of its own`() {
    var report = Report()
    let (early, late) = (["upserted": 1], ["unmappable": 1])
    #expect(report(["early": early], at: 0).isEmpty)
    #expect(report(["early": early], at: 60_000).count == 1)
    #expect(report(["early": early, "late": late], at: 65_000).isEmpty)
    #expect(
      report(["early": early, "late": late], at: 125_000) == [
        "ingest.nothing-mapped topic=late rows=\"unmappable 1\""
      ]
    )
  }

  @Test func `deletions and records that are no rows are no mistake`() {
    var report = Report()
    let rows = ["quiet": ["deleted": 2, "skipped": 1]]
    _ = report(rows, at: 0)
    #expect(report(rows, at: 60_000) == ["ingest.progress topic=quiet rows=\"deleted 2, skipped 1\""])
  }

  @Test func `nothing is logged of sources without rows`() {
    var report = Report()
    #expect(report([:], at: .max).isEmpty)
  }
}

extension Substring {
  fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> Substring {
    var rest = self
    while let last = rest.last, predicate(last) { rest.removeLast() }
    return rest
  }
}
