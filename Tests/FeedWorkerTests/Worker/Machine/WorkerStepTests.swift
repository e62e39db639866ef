import Testing

@testable import FeedWorker

struct WorkerStepTests {
  private static func step(
    deadline: Int64? = nil,
    at now: Int64 = 100,
    isStopping: Bool = false,
    isProducerReady: Bool = true,
    restoreTime: Int64? = nil
  ) -> WorkerStep {
    WorkerStep(
      deadline: deadline,
      now: now,
      isStopping: isStopping,
      isProducerReady: isProducerReady,
      restoreTime: restoreTime
    )
  }

  @Test func `a wait for input ends at the deadline, and often enough to see a request to stop`() {
    #expect(Self.step() == .poll(timeoutMilliseconds: 100))
    #expect(Self.step(deadline: 130) == .poll(timeoutMilliseconds: 30))
    #expect(Self.step(deadline: 90_000) == .poll(timeoutMilliseconds: 100))
    #expect(Self.step(deadline: .max, at: 0) == .poll(timeoutMilliseconds: 100))
  }

  @Test(arguments: [100, 101, 5_000]) func `at and after the deadline pending changes are published`(
    now: Int64
  ) {
    #expect(Self.step(deadline: 100, at: now) == .flush)
  }

  @Test(arguments: [nil, 50, 500]) func `a request to stop comes first`(deadline: Int64?) {
    #expect(Self.step(deadline: deadline, isStopping: true) == .stop)
  }

  @Test(arguments: [nil, 101, 500])
  func `pending changes come before restoring, and restoring before waiting for input`(
    deadline: Int64?
  ) {
    #expect(Self.step(deadline: deadline, restoreTime: 100) == .restore)
    #expect(Self.step(deadline: 100, restoreTime: 100) == .flush)
    #expect(Self.step(deadline: deadline, isStopping: true, restoreTime: 100) == .stop)
  }

  @Test func `a step in restoring that has to wait does not keep input waiting`() {
    #expect(Self.step(restoreTime: 140) == .poll(timeoutMilliseconds: 40))
    #expect(Self.step(deadline: 130, restoreTime: 140) == .poll(timeoutMilliseconds: 30))
    #expect(Self.step(restoreTime: 500) == .poll(timeoutMilliseconds: 100))
  }

  @Test(arguments: [nil, 0, 500]) func `without a producer nothing is restored, read or published`(
    restoreTime: Int64?
  ) {
    for deadline in [nil, 50, 500] as [Int64?] {
      let step = Self.step(deadline: deadline, isProducerReady: false, restoreTime: restoreTime)
      #expect(step == .prepareProducer)
    }
  }
}
