import Testing

@testable import FeedDaemon

struct WorkerStepTests {
  @Test func `nothing waiting is a wait for input that ends often enough to see a request to stop`() {
    #expect(
      WorkerStep(deadline: nil, now: 5, isStopping: false, isProducerReady: true, isRestoring: false)
        == .poll(timeoutMilliseconds: 100)
    )
  }

  @Test func `a wait ends at the deadline`() {
    #expect(
      WorkerStep(deadline: 130, now: 100, isStopping: false, isProducerReady: true, isRestoring: false)
        == .poll(timeoutMilliseconds: 30)
    )
    #expect(
      WorkerStep(deadline: 90_000, now: 100, isStopping: false, isProducerReady: true, isRestoring: false)
        == .poll(timeoutMilliseconds: 100)
    )
    #expect(
      WorkerStep(deadline: .max, now: 0, isStopping: false, isProducerReady: true, isRestoring: false)
        == .poll(timeoutMilliseconds: 100)
    )
  }

  @Test(arguments: [100, 101, 5_000]) func `at and after the deadline what waits is published`(now: Int64) {
    #expect(
      WorkerStep(deadline: 100, now: now, isStopping: false, isProducerReady: true, isRestoring: false)
        == .flush
    )
  }

  @Test(arguments: [nil, 50, 500]) func `a request to stop comes first`(deadline: Int64?) {
    #expect(
      WorkerStep(deadline: deadline, now: 100, isStopping: true, isProducerReady: true, isRestoring: false)
        == .stop
    )
  }

  @Test(arguments: [nil, 50, 500]) func `restoring comes before input, and a request to stop before that`(
    deadline: Int64?
  ) {
    #expect(
      WorkerStep(deadline: deadline, now: 100, isStopping: false, isProducerReady: true, isRestoring: true)
        == .restore
    )
    #expect(
      WorkerStep(deadline: deadline, now: 100, isStopping: true, isProducerReady: true, isRestoring: true)
        == .stop
    )
  }

  @Test(arguments: [true, false]) func `without a producer nothing is restored, read or published`(
    isRestoring: Bool
  ) {
    for deadline in [nil, 50, 500] as [Int64?] {
      #expect(
        WorkerStep(
          deadline: deadline,
          now: 100,
          isStopping: false,
          isProducerReady: false,
          isRestoring: isRestoring
        ) == .prepareProducer
      )
    }
  }
}
