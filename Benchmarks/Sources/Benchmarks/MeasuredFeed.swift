import Feed
import FeedStore
import Workloads

/// A store with one feed of a given number of items, and the time that changing it takes.
struct MeasuredFeed {
  /// The feed's first items, which no measurement deletes.
  let itemCount: Int
  private let store: FeedStore
  private var nextOffset: Int64 = 0

  struct Cost {
    var apply: UInt64
    var flush: UInt64
    var total: UInt64 { apply + flush }
  }

  /// Fills the feed and publishes it.
  init(itemCount: Int) async {
    var options = FeedStoreOptions()
    // The measured rounds are what the caller makes of them: no flush in between, and no keyframe,
    // which is meant to cost as much as the feed is large. `reloadCount` tells that none came.
    options.coalescing.windowMilliseconds = .max
    options.coalescing.idleWindowMilliseconds = .max
    options.coalescing.maxRecords = .max
    options.coalescing.maxBytes = .max
    options.keyframe.maxDeltas = .max
    options.keyframe.maxBytesRatio = .greatestFiniteMagnitude
    options.limits.maxItems = 2 * itemCount
    self.itemCount = itemCount
    store = FeedStore(options: options)

    let perRecord = 1000
    for first in stride(from: 0, to: itemCount, by: perRecord) {
      await apply([SampleData.insertions(first..<min(first + perRecord, itemCount))])
    }
    await flush()
  }

  /// Applies the records, each of one event, and publishes what they come to.
  mutating func change(_ records: [String]) async -> Cost {
    let list = RecordList(records, firstOffset: nextOffset)
    nextOffset += Int64(records.count)
    let started = now()
    await apply(list)
    let applied = now()
    await flush()
    let flushed = now()
    return Cost(apply: applied - started, flush: flushed - applied)
  }

  /// Reloads published so far, keyframes included.
  var reloadCount: Int {
    get async { await store.counters.reloads.values.reduce(0, +) }
  }

  private mutating func apply(_ records: [String]) async {
    await apply(RecordList(records, firstOffset: nextOffset))
    nextOffset += Int64(records.count)
  }

  private func apply(_ list: RecordList) async {
    do {
      let outcome = try await store.apply(list, time: .clock(0))
      precondition(outcome == .exhausted, "the store wants to publish in the middle of a round")
    } catch {
      preconditionFailure("a list of records does not throw: \(error)")
    }
  }

  private func flush() async {
    var part = await store.beginFlush()
    while !part.isLast { part = await store.nextPart() }
    precondition(part.rejected.isEmpty, "a record of the benchmark was rejected: \(part.rejected)")
    await store.confirm()
  }
}
