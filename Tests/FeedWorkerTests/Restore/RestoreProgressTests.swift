import Testing

@testable import FeedWorker

struct RestoreProgressTests {
  @Test func `it is told at most once a second, and what stands still is told as such`() {
    var progress = RestoreProgress(now: 5_000)
    progress.add(records: 10, bytes: 3_000_000)
    #expect(progress.isWaiting(at: 5_999) == nil)
    #expect(progress.isWaiting(at: 6_000) == false)
    #expect(progress.isWaiting(at: 6_999) == nil)
    #expect(progress.isWaiting(at: 7_000) == true)
    progress.add(records: 1, bytes: 1_000_000)
    #expect(progress.isWaiting(at: 7_500) == nil)
    #expect(progress.isWaiting(at: 9_000) == false)
  }

  @Test func `the rate is the mean since the start`() {
    var progress = RestoreProgress(now: 1_000)
    #expect(progress.bytesPerSecond(at: 1_000) == 0)
    progress.add(records: 10, bytes: 3_000_000)
    #expect(progress.bytesPerSecond(at: 3_000) == 1_500_000)
    #expect(progress.milliseconds(at: 3_000) == 2_000)
    #expect(progress.records == 10)
  }
}
