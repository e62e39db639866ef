import Testing

@testable import FeedKafka

struct ProduceCreditTests {
  /// Which of these requests pass; nil renews the credit.
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

  @Test func `requests pass until the credit is used up`() {
    #expect(taken([ProduceCredit.bytes - 10, 11, 10, 1, nil, 1]) == [true, false, true, false, true])
  }

  @Test func `a request larger than the credit passes alone`() {
    #expect(taken([.max, 1, nil, 1, .max]) == [true, false, true, false])
  }
}
