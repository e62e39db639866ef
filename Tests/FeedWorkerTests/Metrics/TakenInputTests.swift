import Diagnostics
import Synchronization
import Testing

@testable import FeedStatus

@Suite struct TakenInputTests {
  private final class Clock: Sendable {
    private let time: Mutex<Int64>

    init(_ time: Int64) { self.time = Mutex(time) }

    var now: Int64 { time.withLock { $0 } }
    func advance(by milliseconds: Int64) { time.withLock { $0 += milliseconds } }
  }

  @Test func `delays are from the timestamp to the commit, whenever the record was taken`() {
    let clock = Clock(1_000_000)
    var input = TakenInput { clock.now }
    var delays = Histogram([0.1, 1, 10])
    input.add(topic: 1, bytes: 7, timestamp: 999_990)
    clock.advance(by: 50)
    input.add(topic: 1, bytes: 3, timestamp: 1_000_040)
    // Without a timestamp, and from a clock that is ahead.
    input.add(topic: 0, bytes: 1, timestamp: -1)
    input.add(topic: 0, bytes: 1, timestamp: 1_002_000)
    #expect(input.records == 4)
    input.add(topic: 0, bytes: 1, timestamp: -1)
    #expect(input.records == 5)
    clock.advance(by: 50)
    let topics = input.commit(into: &delays)
    #expect(
      topics == [0: TakenInput.Amount(records: 3, bytes: 3), 1: TakenInput.Amount(records: 2, bytes: 10)]
    )
    // Delays of 110 ms, 60 ms, and none.
    #expect(delays.counts == [2, 1, 0, 0])
    #expect(abs(delays.sum - 0.17) < 1e-9)
    #expect(input.records == 0)
    #expect(input.commit(into: &delays).isEmpty)
    #expect(delays.count == 3)
  }

  @Test func `what is read again is not counted twice`() {
    var input = TakenInput { 5_000 }
    var delays = Histogram([1])
    input.add(topic: 0, bytes: 1, timestamp: 5_000)
    input.discard()
    #expect(input.records == 0)
    #expect(input.commit(into: &delays).isEmpty)
    #expect(delays.count == 0)
  }

  @Test func `of very many times, neighbours become one, and every record counts`() {
    var input = TakenInput { 1_000_000_000 }
    var delays = Histogram([100, 200, 300])
    let count = 2 * TakenInput.mostTimes + 7
    for number in 0..<count {
      // One topic is hours behind the other.
      let age: Int64 = number.isMultiple(of: 2) ? 50_000 : 250_000
      input.add(topic: number % 2, bytes: 1, timestamp: 1_000_000_000 - age - Int64(number % 40_000))
    }
    #expect(input.records == count)
    _ = input.commit(into: &delays)
    #expect(delays.counts == [(count + 1) / 2, 0, count / 2, 0])
  }
}
