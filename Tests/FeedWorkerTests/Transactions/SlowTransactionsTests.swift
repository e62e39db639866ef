import Testing

@testable import FeedWorker

struct SlowTransactionsTests {
  /// Counts transactions that take so long and fail, each told twice.
  private func fail(_ slow: inout SlowTransactions, after milliseconds: Int64, of timeout: Int = 10_000) {
    slow.begin(at: 1_000)
    slow.fail(at: 1_000 + milliseconds, timeoutMilliseconds: timeout)
    slow.fail(at: 1_000_000, timeoutMilliseconds: timeout)
  }

  @Test func `what fails at once says nothing about its time`() {
    var slow = SlowTransactions()
    fail(&slow, after: 0)
    fail(&slow, after: 7_499)
    #expect(slow.inARow == 0)
  }

  @Test func `what fails at the end of its time counts once`() {
    var slow = SlowTransactions()
    fail(&slow, after: 7_500)
    #expect(slow.inARow == 1)
    fail(&slow, after: 14_999, of: 20_000)
    #expect(slow.inARow == 1)
    fail(&slow, after: 20_000, of: 20_000)
    #expect(slow.inARow == 2)
  }

  @Test func `a commit ends the row`() {
    var slow = SlowTransactions()
    fail(&slow, after: 10_000)
    slow.begin(at: 0)
    slow.commit()
    #expect(slow == SlowTransactions())
  }

  @Test func `what failed before it was begun does not count`() {
    var slow = SlowTransactions()
    slow.fail(at: 100_000, timeoutMilliseconds: 10_000)
    #expect(slow.inARow == 0)
  }
}
