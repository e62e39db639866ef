import Testing

@testable import FeedKafka

struct BatchLimitTests {
  @Test func `each refusal reduces the limit to a tenth, down to one record`() {
    var limit = BatchLimit()
    #expect(limit.bytes == nil)
    #expect(!limit.isLeast)
    var bytes: [Int?] = []
    while !limit.isLeast, bytes.count < 100 {
      limit.shrink(from: 1_000_000)
      bytes.append(limit.bytes)
    }
    #expect(bytes == [100_000, 10_000, 1_000, 100, 10, 1])
    limit.shrink(from: 1_000_000)
    #expect(limit.isLeast)
  }
}
