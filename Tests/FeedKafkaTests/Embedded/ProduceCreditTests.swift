import Testing

@testable import FeedKafka

struct ProduceCreditTests {
  /// Which of these requests go on, one after the other; nil renews the credit.
  private func taken(_ requests: [Int?]) -> [Bool] {
    var credit = ProduceCredit()
    return requests.compactMap { bytes in
      guard let bytes else {
        credit.renew()
        return nil
      }
      return credit.take(bytes)
    }
  }

  @Test func `requests go on until they are as much as may be unread`() {
    #expect(taken([ProduceCredit.bytes - 10, 11, 10, 1, nil, 1]) == [true, false, true, false, true])
  }

  @Test func `a request that is larger goes on by itself`() {
    #expect(taken([.max, 1, nil, 1, .max]) == [true, false, true, false])
  }
}
