import Feed
import FeedStore
import Workloads

/// A replay file, from its lines to the changesets with their headers, by the records' timestamps.
struct ReplayFile: Workload {
  private let lines: ReplayLines
  private let store = FeedStore(options: FeedStoreOptions())
  /// The size of the headers, so that they are computed.
  private var headerBytes = 0

  init(_ lines: ReplayLines) { self.lines = lines }

  var operationCount: Int { lines.recordCount }

  mutating func prepare() async {}

  mutating func run() async {
    do {
      var outcome = ApplyOutcome.flushDue
      while outcome == .flushDue {
        outcome = try await store.apply(lines, time: .records)
        await publish()
      }
    } catch {
      fail("the file cannot be replayed: \(error)")
    }
  }

  func check() async {
    let counters = await store.counters
    Costs.check(counters.flushes > 0 && headerBytes > 0, "nothing was published")
  }

  private mutating func publish() async {
    guard await store.isPublicationDue else { return }
    var part = await store.beginFlush()
    while true {
      for record in part.records {
        ChangesetHeaders.forEach(record, in: part, source: "feedstore") { name, value in
          headerBytes += name.utf8CodeUnitCount + value.count
        }
      }
      if part.isLast { break }
      part = await store.nextPart()
    }
    await store.confirm()
  }
}
