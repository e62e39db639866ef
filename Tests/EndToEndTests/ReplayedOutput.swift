import Feed
import FeedStore
import Kafka

@testable import FeedPipeline
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
    var part = await store.beginFlush()
    while true {
      for record in part.records {
        var copy = StoredRecord(
          partition: record.partition,
          timestamp: record.time,
          key: Array(part.bytes(record.key).buffer),
          value: record.value.map { Array(part.bytes($0).buffer) }
        )
        ChangesetHeaders.forEach(record, in: part, source: options.output.source) { name, value in
          copy.headers[name.description] = value.text
        }
        changesets.append(copy)
      }
      for record in part.rejected {
        var copy = StoredRecord(
          partition: record.partition,
          timestamp: record.timestamp,
          key: record.key,
          value: record.value
        )
        RejectedHeaders.forEach(record) { name, value in copy.headers[name.description] = value.text }
        rejected.append(copy)
      }
      if part.isLast { break }
      part = await store.nextPart()
    }
    await store.confirm()
  }
}
