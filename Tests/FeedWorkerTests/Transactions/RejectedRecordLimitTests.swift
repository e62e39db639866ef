import Testing

@testable import FeedWorker

struct RejectedRecordLimitTests {
  @Test func `what fits is whole`() {
    let limit = RejectedRecordLimit(maxMessageBytes: 10_000)
    let (key, value) = limit.cut(keyBytes: 100, valueBytes: 8_000, headerBytes: 300)
    #expect(key == 100)
    #expect(value == 8_000)
  }

  @Test func `the value is cut to what the topic takes, with the headers and what Kafka adds`() {
    let limit = RejectedRecordLimit(maxMessageBytes: 10_000)
    let (key, value) = limit.cut(keyBytes: 100, valueBytes: 1_000_000, headerBytes: 300)
    #expect(key == 100)
    #expect(value == 10_000 - 1_024 - 300 - 100)
  }

  @Test func `a key that is too long by itself is cut, too`() {
    let limit = RejectedRecordLimit()
    limit.set(maxMessageBytes: 5_000)
    let (key, value) = limit.cut(keyBytes: 6_000, valueBytes: 10, headerBytes: 500)
    #expect(key == 5_000 - 1_024 - 500)
    #expect(value == 0)
  }

  @Test func `a limit below everything leaves nothing`() {
    let limit = RejectedRecordLimit(maxMessageBytes: 10)
    #expect(limit.cut(keyBytes: 1, valueBytes: 1, headerBytes: 1) == (0, 0))
  }
}
