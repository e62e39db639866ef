import Feed
import FeedStore
import Testing

@testable import FeedTools

struct DemoHistoryTests {
  @Test func `the history can begin at any time, and differs in nothing else`() throws {
    let later = DemoHistory.recordedStart + 86_400_000
    let lines = DemoHistory.lines(from: later)
    #expect(lines.count == DemoHistory.lines.count)
    for (moved, line) in zip(lines, DemoHistory.lines) {
      let time = try #require(line.firstRange(of: /"ts":\d+/))
      let number = try #require(Int64(line[time].dropFirst(5)))
      #expect(moved == line.replacing(line[time], with: "\"ts\":\(number + 86_400_000)", maxReplacements: 1))
    }
    #expect(lines.contains { $0.contains("\"key\":\"\(DemoHistory.liveliestFeed)\"") })
  }

  @Test func `the history contains all typical changes`() async throws {
    let file = try DemoFile(DemoHistory.text())
    let replay = Replay(inputs: [file.path], output: "/dev/null", rejected: nil, options: FeedStoreOptions())
    let report = try await replay.run()
    withExtendedLifetime(file) {}
    let counters = report.counters
    #expect(report.feedCount == 5)
    #expect(report.rejectedRecords == 1)
    #expect(counters.rejects == [.invalidJSON: 1])
    #expect(ChangesetMode.allCases.allSatisfy { counters.changesets[$0, default: 0] > 0 })
    for reason in [.initial, .fraction] as [ReloadReason] {
      #expect(counters.reloads[reason, default: 0] > 0, "\(reason)")
    }
    let entries = counters.entries
    for count in [entries.deletes, entries.inserts, entries.moves, entries.reconfigures, entries.reloads] {
      #expect(count > 0)
    }
    #expect(counters.cutItems > 0)
    #expect(counters.endedItems == 1)
  }
}
