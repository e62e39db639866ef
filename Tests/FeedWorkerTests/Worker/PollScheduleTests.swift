import Testing

@testable import FeedTransactions

struct PollScheduleTests {
  @Test(arguments: [
    (300_000, 1_000), (6_000, 1_000), (3_000, 1_000), (2_999, 999), (1_500, 500), (3, 1), (1, 1), (0, 1),
  ])
  func `a poll follows within a third of the interval, or a second`(interval: Int64, expected: Int64) {
    #expect(PollSchedule(maxPollMilliseconds: interval).intervalMilliseconds == expected)
  }

  @Test func `it is due that long after the last, and at once before the first`() {
    var schedule = PollSchedule(maxPollMilliseconds: 1_500)
    #expect(schedule.isDue(at: 0))
    schedule.poll(at: 10_000)
    #expect(!schedule.isDue(at: 10_499))
    #expect(schedule.isDue(at: 10_500))
    schedule.poll(at: 12_000)
    #expect(schedule.dueTime == 12_500)
  }
}
