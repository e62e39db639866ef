import Testing

@testable import FeedTransactions

struct RejectedRecordLimitTests {
  @Test(arguments: [
    // What fits is whole.
    (limit: 10_000, sizes: [100, 8_000, 300], key: 100, value: 8_000),
    // The value is cut to what the topic takes, with the headers and what Kafka adds.
    (10_000, [100, 1_000_000, 300], 100, 10_000 - 1_024 - 300 - 100),
    // A key that is too long by itself is cut, too.
    (5_000, [6_000, 10, 500], 5_000 - 1_024 - 500, 0),
    // A limit below everything leaves nothing.
    (10, [1, 1, 1], 0, 0),
  ])
  func `key and value are cut to what the topic takes`(limit: Int, sizes: [Int], key: Int, value: Int) {
    let limits = RejectedRecordLimit()
    limits.set(maxMessageBytes: limit)
    let cut = limits.cut(keyBytes: sizes[0], valueBytes: sizes[1], headerBytes: sizes[2])
    #expect(cut == (key, value))
  }
}
