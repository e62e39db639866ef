import ChangesetTestSupport
import ConformanceSupport
import Oracle

@testable import FeedClient

/// A partition of a changesets topic: records with their offsets.
struct ChangesetLog {
  struct Entry {
    let offset: Int64
    let record: ChangesetSource.Record
  }

  private(set) var entries: [Entry] = []

  /// The offset after the last record.
  var end: Int64 { (entries.last?.offset ?? -1) + 1 }

  /// A log of random feeds, with many split changesets.
  static func random(_ seed: UInt64, flushes: Int) async throws -> ChangesetLog {
    var random = SplitMix64(seed: seed)
    var options = GeneratorOptions()
    options.partitionCount = 1
    options.badPercent = 0
    options.nullPercent = 6
    if seed.isMultiple(of: 2) { options.addOrders() }
    var generator = RecordGenerator(seed: seed, options: options)
    let source = ChangesetSource(maxMessageBytes: 350 + random.below(300), maxDeltas: 4 + random.below(12))
    var log = ChangesetLog()
    for _ in 0..<flushes {
      for record in try await source.flush(generator.records(1 + random.below(12))) {
        // Transaction markers occupy offsets.
        log.entries.append(Entry(offset: log.end + (random.chance(10) ? 1 : 0), record: record))
      }
    }
    return log
  }

  func entries(from offset: Int64) -> ArraySlice<Entry> { entries.drop { $0.offset < offset } }
}
