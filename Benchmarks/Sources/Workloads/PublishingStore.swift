import Feed
package import FeedStore

/// A store that publishes on request. Its changesets can be kept, to restore another store from them.
package struct PublishingStore {
  /// The published records; nil if they are not kept.
  package let log: ChangesetLog?
  private let store: FeedStore
  private var nextOffset: Int64 = 0

  /// - Parameters:
  ///   - options: windows end only when `publish` is called.
  ///   - log: receives what is published.
  package init(options: FeedStoreOptions, log: ChangesetLog? = nil) {
    var options = options
    options.coalescing.windowMilliseconds = .max
    options.coalescing.idleWindowMilliseconds = .max
    options.coalescing.maxRecords = .max
    options.coalescing.maxBytes = .max
    self.log = log
    store = FeedStore(options: options)
  }

  /// Records with offsets after those made before.
  package mutating func makeList(
    _ records: [(feed: String, text: String)],
    topic: [UInt8] = RecordList.items
  ) -> RecordList {
    let list = RecordList(records, topic: topic, firstOffset: nextOffset)
    nextOffset += Int64(records.count)
    return list
  }

  /// Applies records and publishes the result.
  package mutating func publish(_ records: [(feed: String, text: String)]) async {
    await publish(makeList(records))
  }

  /// Applies records and publishes the result.
  package func publish(_ list: RecordList) async {
    await apply(list)
    await publish()
  }

  package mutating func apply(_ records: [(feed: String, text: String)]) async {
    await apply(makeList(records))
  }

  package func apply(_ list: RecordList) async {
    do {
      let outcome = try await store.apply(list, time: .clock(0))
      precondition(outcome == .exhausted, "the store wants to publish in the middle of a window")
    } catch {
      preconditionFailure("a list of records does not throw: \(error)")
    }
  }

  package func publish() async { await Self.publish(store, log) }

  private static func publish(_ store: isolated FeedStore, _ log: ChangesetLog?) {
    store.publish { part in
      precondition(part.rejected.isEmpty, "a record of the benchmark was rejected: \(part.rejected)")
      log?.append(part)
    }
  }

  /// The summaries that a restored store must have.
  package func summaries() async -> [FeedSummary] { await store.summaries() }

  package var counters: StoreCounters {
    get async { await store.counters }
  }
}
