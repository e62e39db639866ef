import Testing

@testable import FeedWorker

struct RestoreTimeoutTests {
  private func timeouts(isServing: Bool, _ failures: Range<Int>) -> [Int32] {
    failures.map { RestoreTimeout.milliseconds(afterFailures: $0, isServing: isServing) }
  }

  @Test func `while nothing is served, each question may take twice as long as the one before`() {
    #expect(timeouts(isServing: false, 0..<6) == [1_000, 2_000, 4_000, 8_000, 8_000, 8_000])
  }

  @Test func `while partitions are served, questions stay short for a long time`() {
    let patient = timeouts(isServing: true, 0..<RestoreTimeout.patientFailures)
    #expect(patient.prefix(3) == [150, 300, 300])
    #expect(patient.max() == 300)
    #expect(patient.reduce(0, +) > 15_000)
  }

  @Test func `a slow broker is heard in the end, also while partitions are served`() {
    let first = RestoreTimeout.patientFailures
    let late = timeouts(isServing: true, first..<first + 7)
    #expect(late == [300, 600, 1_200, 2_400, 4_800, 8_000, 8_000])
  }
}
