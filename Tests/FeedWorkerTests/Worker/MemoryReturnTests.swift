import Testing

@testable import FeedWorker

@Suite struct MemoryReturnTests {
  @Test func `memory is given back once, ten seconds after the input was behind for the last time`() {
    let polls: [(time: Int64, isBehind: Bool)] = [
      (0, false), (1_000, true), (9_000, false), (9_500, true), (19_499, false), (19_500, false),
      (40_000, false),
    ]
    var memory = MemoryReturn()
    let times = polls.filter { memory.isDue(isBehind: $0.isBehind, at: $0.time) }.map(\.time)
    #expect(times == [19_500])
  }
}
