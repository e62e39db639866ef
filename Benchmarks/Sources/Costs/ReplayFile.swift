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
        headerBytes += await Self.publish(store)
      }
    } catch {
      fail("the file cannot be replayed: \(error)")
    }
  }

  func check() async {
    let counters = await store.counters
    Costs.check(counters.flushes > 0 && headerBytes > 0, "nothing was published")
  }

  /// - Returns: the size of the headers.
  private static func publish(_ store: isolated FeedStore) -> Int {
    guard store.isPublicationDue else { return 0 }
    var headerBytes = 0
    store.publish { part in
      for record in part.records {
        ChangesetHeaders.forEach(record, in: part, source: "feedstore") { name, value in
          headerBytes += name.utf8CodeUnitCount + value.count
        }
      }
    }
    return headerBytes
  }
}
