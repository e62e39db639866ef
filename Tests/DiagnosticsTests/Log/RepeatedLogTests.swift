import Diagnostics
import Synchronization
import Testing

/// Repeated lines, under a clock that only the test advances.
struct RepeatedLogTests {
  private let recorded = RecordedOutput()
  private let time = VirtualTime()

  private func log(_ level: LogLevel = .info) -> Log {
    Log(level: level, output: recorded.output(isTerminal: false), clocks: time.clocks)
  }

  /// The written lines, without time and level.
  private var told: [String] { recorded.writes.map { String($0.dropFirst(33).dropLast()) } }

  @Test func `a warning is written at once, and then counted`() {
    let log = log()
    for _ in 0..<1_000 { log.write(.inputRetrying, "lost", ["error": "down"]) }
    #expect(told == ["lost event=input.retrying error=down"])
    time.advance(by: 29_999)
    #expect(told.count == 1)
    time.advance(by: 1)
    #expect(told.dropFirst() == ["lost event=input.retrying repeated=999 error=down"])
    log.write(.inputRetrying, "lost", ["error": "down"])
    time.advance(by: 30_000)
    #expect(told.dropFirst(2) == ["lost event=input.retrying repeated=1 error=down"])
    time.advance(by: 3_000_000)
    #expect(told.count == 3)
    #expect(time.pending == 0, "nobody waits for what is over")
  }

  @Test func `different errors are written`() {
    let log = log()
    for error in ["a", "b", "a"] { log.write(.inputError, "lost", ["error": error]) }
    log.write(.inputRetrying, "lost", ["error": "a"])
    log.write(.inputError, "gone", ["error": "a"])
    log.with(["worker": 1]).write(.inputError, "lost", ["error": "a"])
    log.with(["worker": 2]).write(.inputError, "lost", ["error": "a"])
    #expect(told.count == 6)
    log.finish()
    #expect(told.count == 7 && told.last == "lost event=input.error repeated=1 error=a")
  }

  @Test func `lines that differ only in figures and times are repetitions, and the newest is written`() {
    let log = log()
    for (milliseconds, count) in [(12, 1), (1_003, 2), (9, 3)] {
      log.write(
        .kafkaClientError,
        "[thrd:b:9092/1]: Connection refused (after \(milliseconds)ms in state CONNECT, \(count) identical error(s) suppressed)",
        ["inARow": LogFigure.count(count)]
      )
    }
    log.write(
      .kafkaClientError,
      "[thrd:b:9092/1]: Connection refused (after 1ms in state CONNECT)",
      ["inARow": LogFigure.count(4)]
    )
    log.write(.kafkaClientError, "[thrd:b:9092/2]: Connection refused (after 1ms in state CONNECT)")
    time.advance(by: 30_000)
    #expect(told.count == 3)
    #expect(told.last?.contains("after 1ms in state CONNECT)") == true)
    #expect(told.last?.contains(" repeated=3 inARow=4") == true)
  }

  @Test(arguments: [
    ("broker 1 is down", "broker 2 is down"), ("t [1] at offset 10", "t [1] at offset 11"),
    ("10.0.0.1:9092", "10.0.0.2:9092"), ("t-1ms", "t-2ms"), ("1 message", "2 messages"),
    ("error 3s4", "error 5s4"),
  ])
  func `lines that differ in an identifying number are not repetitions`(first: String, second: String) {
    let log = log()
    for text in [first, second] { log.write(.inputError, text) }
    #expect(told.count == 2)
  }

  @Test(arguments: [
    ("timed out after 1.5 s", "timed out after 22.5 s"), ("rtt 3ms", "rtt 44ms"),
    ("Timed out 3 in-flight, 1 out-queue", "Timed out 10 in-flight, 0 out-queue"),
    ("in flight (timeout #1)", "in flight (timeout #23)"),
  ])
  func `lines that differ in a duration or a count are repetitions`(first: String, second: String) {
    let log = log()
    for text in [first, second] { log.write(.inputError, text) }
    #expect(told.count == 1)
  }

  @Test func `repetitions about brokers are counted over all workers`() {
    let log = log()
    for worker in 0..<4 {
      log.with(["worker": worker]).write(.startupWaitingForBrokers, "waiting", ["error": "down"])
      log.with(["worker": worker]).write(.inputRetrying, "retrying", ["error": "down"])
    }
    #expect(told.count == 5)
    log.finish()
    #expect(told.last == "waiting event=startup.waiting-for-brokers repeated=3 error=down worker=3")
  }

  @Test func `events that report the state are always written`() {
    let log = log(.debug)
    for _ in 0..<3 {
      log.write(.groupAssigned, "assigned", ["partitions": "a/0"])
      log.write(.kafkaClientDebug, "debug")
    }
    #expect(told.count == 6)
    #expect(time.pending == 0)
  }

  @Test func `a released log cancels its checks`() {
    do {
      let log = log()
      for _ in 0..<2 { log.write(.inputError, "x") }
    }
    time.advance(by: 30_000)
    #expect(told.count == 1)
  }
}

/// A clock with scheduled actions.
private final class VirtualTime: Sendable {
  private struct State {
    var now: Int64 = 0
    var actions: [(time: Int64, run: @Sendable () -> Void)] = []
  }

  private let state = Mutex(State())

  var clocks: LogClocks {
    var clocks = LogClocks()
    clocks.wall = { self.state.withLock(\.now) }
    clocks.monotonic = { self.state.withLock(\.now) }
    clocks.later = { milliseconds, action in
      self.state.withLock { $0.actions.append(($0.now + milliseconds, action)) }
    }
    return clocks
  }

  var pending: Int { state.withLock(\.actions.count) }

  func advance(by milliseconds: Int64) {
    let end = state.withLock(\.now) + milliseconds
    while let action = next(until: end) { action() }
    state.withLock { $0.now = end }
  }

  private func next(until end: Int64) -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard let index = state.actions.indices.min(by: { state.actions[$0].time < state.actions[$1].time }),
        state.actions[index].time <= end
      else { return nil }
      let action = state.actions.remove(at: index)
      state.now = max(state.now, action.time)
      return action.run
    }
  }
}
