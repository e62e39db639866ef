import ChangesetTestSupport
import Feed
import FeedStore
import Oracle
import Testing

/// Flushes that are published in several transactions.
struct LargeFlushTests {
  @Test(arguments: RandomCases.seeds(61...66))
  func `transactions that fail within a flush neither omit nor repeat changesets`(
    seed: UInt64
  ) async throws {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 3_600_000
    options.coalescing.idleWindowMilliseconds = 3_600_000
    options.coalescing.maxRecords = 120
    options.maxTransactionBytes = 400
    if seed.isMultiple(of: 2) { options.keyframe.maxDeltas = 3 }
    var generatorOptions = GeneratorOptions()
    // Most windows have some feeds without deletions and rejected records.
    generatorOptions.feedCount = 25
    generatorOptions.itemCount = 30
    if seed > 63 { generatorOptions.addOrders() }
    var generator = RecordGenerator(seed: seed, options: generatorOptions)
    var driver = StoreDriver(options)
    driver.failures = SplitMix64(seed: seed)
    do {
      try await driver.run(generator.records(3_000))
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
    #expect(driver.earlyTransactions > 10, "seed \(seed): the flushes were split")
  }

  @Test func `a transaction ends after a feed, and never between the records of one`() async throws {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 3_600_000
    options.coalescing.idleWindowMilliseconds = 3_600_000
    options.limits.maxDataBytes = 300
    options.output.maxMessageBytes = 1_200
    options.maxTransactionBytes = 1
    let store = FeedStore(options: options)
    let item =
      #"{"op":"item.upsert","section":"s","item":"ITEM","data":"\#(String(repeating: "x", count: 280))"}"#
    let records = ["a", "b", "c"].flatMap { feed in
      (0..<12).map { number in
        OracleRecord(
          offset: number,
          key: Array(feed.utf8),
          value: Array(item.replacing("ITEM", with: "\(feed)\(number)").utf8)
        )
      }
    }
    _ = try await store.apply(RecordBatch(records), time: .records)
    let flush = await store.published()
    #expect(flush.parts.dropLast().allSatisfy { $0.covered.isEmpty && !$0.isLast })
    #expect(flush.parts.last?.covered.isEmpty == false && flush.parts.last?.isLast == true)
    let transactions = flush.transactions
    #expect(transactions.count == 3)
    for (records, feed) in zip(transactions, ["a", "b", "c"]) {
      let keys = records.map { String(decoding: $0.key, as: UTF8.self) }
      #expect(keys.count > 3)
      #expect(keys == keys.indices.map { "k\($0)/\(feed)" })
    }
  }
}
