import FeedTransactions
import Testing

@testable import FeedWorker

/// The machine's choice of the next action.
struct WorkerStepTests {
  private static func state(
    deadline: Int64? = nil,
    at now: Int64 = 100,
    isStopping: Bool = false,
    isProducerReady: Bool = true,
    restoreTime: Int64? = nil
  ) -> (WorkerState, WorkerAction) {
    var machine = WorkerMachine()
    if isProducerReady { _ = machine.transactions.succeed() }
    machine.state = .looking
    let looked = WorkerEvent.looked(
      ends: [],
      deadline: deadline,
      restoreTime: restoreTime,
      isStopping: isStopping
    )
    let action = machine.handle(looked, at: now)
    return (machine.state, action)
  }

  @Test(arguments: [
    (nil, nil, 100, 100), (130, nil, 100, 30), (90_000, nil, 100, 100), (.max, nil, 0, 100),
    // A step of a restoration that must wait does not delay input.
    (nil, 140, 100, 40), (130, 140, 100, 30), (nil, 500, 100, 100),
  ])
  func `a wait for input ends when something is due, and often enough to see a request to stop`(
    deadline: Int64?,
    restoreTime: Int64?,
    now: Int64,
    wait: Int32
  ) {
    let (state, action) = Self.state(deadline: deadline, at: now, restoreTime: restoreTime)
    #expect(state == .polling(restores: false))
    #expect(action == .poll(timeoutMilliseconds: wait))
  }

  @Test(arguments: [100, 101, 5_000]) func `at and after the deadline pending changes are published`(
    now: Int64
  ) {
    #expect(Self.state(deadline: 100, at: now).1 == .beginFlush)
    #expect(Self.state(deadline: 100, at: now, restoreTime: 100).1 == .beginFlush)
  }

  @Test(arguments: [nil, 50, 101, 500]) func `a request to stop comes first`(deadline: Int64?) {
    for restoreTime in [nil, 100] as [Int64?] {
      let (_, action) = Self.state(deadline: deadline, isStopping: true, restoreTime: restoreTime)
      #expect(action == (deadline == nil ? .close : .beginFlush))
    }
  }

  @Test(arguments: [nil, 101, 500]) func `restoring comes before waiting for input`(deadline: Int64?) {
    #expect(Self.state(deadline: deadline, restoreTime: 100).0 == .polling(restores: true))
  }

  @Test(arguments: [nil, 0, 500]) func `without a producer nothing is restored, read or published`(
    restoreTime: Int64?
  ) {
    for deadline in [nil, 50, 500] as [Int64?] {
      let (state, _) = Self.state(deadline: deadline, isProducerReady: false, restoreTime: restoreTime)
      #expect(state == .preparing(.polling))
    }
  }
}
