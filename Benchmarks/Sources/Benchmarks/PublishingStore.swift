import Feed
import FeedStore

/// A store whose changesets are kept, so that another one can be restored from them.
struct PublishingStore {
  let log = ChangesetLog()
  private let store: FeedStore
  private var nextOffset: Int64 = 0

  /// - Parameter options: windows end where `publish` says so.
  init(options: FeedStoreOptions) {
    var options = options
    options.coalescing.windowMilliseconds = .max
    options.coalescing.idleWindowMilliseconds = .max
    options.coalescing.maxRecords = .max
    options.coalescing.maxBytes = .max
    store = FeedStore(options: options)
  }

  /// Applies records and publishes what they come to.
  mutating func publish(_ records: [(feed: String, text: String)]) async {
    await apply(records)
    await publish()
  }

  mutating func apply(_ records: [(feed: String, text: String)]) async {
    let list = RecordList(records, firstOffset: nextOffset)
    nextOffset += Int64(records.count)
    do {
      let outcome = try await store.apply(list, time: .clock(0))
      precondition(outcome == .exhausted, "the store wants to publish in the middle of a window")
    } catch {
      preconditionFailure("a list of records does not throw: \(error)")
    }
  }

  func publish() async {
    var part = await store.beginFlush()
    precondition(part.rejected.isEmpty, "a record of the benchmark was rejected: \(part.rejected)")
    log.append(part)
    while !part.isLast {
      part = await store.nextPart()
      log.append(part)
    }
    await store.confirm()
  }

  /// What a restored store must be equal to.
  func summaries() async -> [FeedSummary] { await store.summaries() }
}
