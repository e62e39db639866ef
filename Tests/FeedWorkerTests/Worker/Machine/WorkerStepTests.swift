import Testing

@testable import FeedWorker

struct WorkerStepTests {
  @Test func `nothing waiting is a wait for input that ends often enough to see a request to stop`() {
    #expect(
      WorkerStep(deadline: nil, now: 5, isStopping: false, isProducerReady: true, restoreTime: nil)
        == .poll(timeoutMilliseconds: 100)
    )
  }

  @Test func `a wait ends at the deadline`() {
    #expect(
      WorkerStep(deadline: 130, now: 100, isStopping: false, isProducerReady: true, restoreTime: nil)
        == .poll(timeoutMilliseconds: 30)
    )
    #expect(
      WorkerStep(deadline: 90_000, now: 100, isStopping: false, isProducerReady: true, restoreTime: nil)
        == .poll(timeoutMilliseconds: 100)
    )
    #expect(
      WorkerStep(deadline: .max, now: 0, isStopping: false, isProducerReady: true, restoreTime: nil)
        == .poll(timeoutMilliseconds: 100)
    )
  }

  @Test(arguments: [100, 101, 5_000]) func `at and after the deadline pending changes are published`(
    now: Int64
  ) {
    #expect(
      WorkerStep(deadline: 100, now: now, isStopping: false, isProducerReady: true, restoreTime: nil)
        == .flush
    )
  }

  @Test(arguments: [nil, 50, 500]) func `a request to stop comes first`(deadline: Int64?) {
    #expect(
      WorkerStep(deadline: deadline, now: 100, isStopping: true, isProducerReady: true, restoreTime: nil)
        == .stop
    )
  }

  @Test(arguments: [nil, 101, 500])
  func `pending changes come before restoring, and restoring before waiting for input`(
    deadline: Int64?
  ) {
    func step(deadline: Int64?, isStopping: Bool = false) -> WorkerStep {
      WorkerStep(
        deadline: deadline,
        now: 100,
        isStopping: isStopping,
        isProducerReady: true,
        restoreTime: 100
      )
    }
    #expect(step(deadline: deadline) == .restore)
    #expect(step(deadline: 100) == .flush)
    #expect(step(deadline: deadline, isStopping: true) == .stop)
  }

  @Test func `a step in restoring that has to wait does not keep input waiting`() {
    func step(deadline: Int64?, restoreTime: Int64) -> WorkerStep {
      WorkerStep(
        deadline: deadline,
        now: 100,
        isStopping: false,
        isProducerReady: true,
        restoreTime: restoreTime
      )
    }
    #expect(step(deadline: nil, restoreTime: 140) == .poll(timeoutMilliseconds: 40))
    #expect(step(deadline: 130, restoreTime: 140) == .poll(timeoutMilliseconds: 30))
    #expect(step(deadline: nil, restoreTime: 500) == .poll(timeoutMilliseconds: 100))
  }

  @Test(arguments: [nil, 0, 500]) func `without a producer nothing is restored, read or published`(
    restoreTime: Int64?
  ) {
    for deadline in [nil, 50, 500] as [Int64?] {
      #expect(
        WorkerStep(
          deadline: deadline,
          now: 100,
          isStopping: false,
          isProducerReady: false,
          restoreTime: restoreTime
        ) == .prepareProducer
      )
    }
  }
}
