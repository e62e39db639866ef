import ChangesetTestSupport
import Feed
import FeedStore
import Kafka

@testable import FeedDaemon
@testable import FeedTools

/// The output of a replay, as records.
struct ReplayedOutput {
  private(set) var changesets: [StoredRecord] = []
  private(set) var rejected: [StoredRecord] = []
  private(set) var feeds: [FeedSummary] = []

  init(_ lines: [String], _ options: FeedStoreOptions) async throws {
    let file = try DemoFile(lines.joined(separator: "\n"))
    let reader = ReplayReader(paths: [file.path])
    let store = FeedStore(options: options)
    while true {
      // Windows never end by time here, so the records' own times can be used.
      let outcome = try await store.apply(reader, time: .records)
      if await store.isPublicationDue { await take(store, options) }
      if outcome == .exhausted { break }
    }
    feeds = await store.summaries()
    withExtendedLifetime(file) {}
  }

  private mutating func take(_ store: FeedStore, _ options: FeedStoreOptions) async {
    let flush = await store.published(source: options.output.source)
    changesets += flush.records.map { StoredRecord($0) }
    for record in flush.rejected {
      var copy = StoredRecord(
        partition: record.partition,
        timestamp: record.timestamp,
        key: record.key,
        value: record.value
      )
      RejectedHeaders.forEach(record) { name, value in copy.headers[name.description] = value.text }
      rejected.append(copy)
    }
  }
}
