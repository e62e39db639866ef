import CCoroutine

/// Code that runs in virtual time: it may wait in the middle of a call, while others run.
public final class SimulatedTask {
  private unowned let simulator: Simulator
  let process: SimulatedProcess
  private var body: (() -> Void)?
  private var stack: OpaquePointer?
  /// Counts its waits, so that the end of an earlier one does not end a later one.
  private var wait = 0
  public private(set) var hasEnded = false

  init(_ simulator: Simulator, _ process: SimulatedProcess, _ body: @escaping () -> Void) {
    self.simulator = simulator
    self.process = process
    self.body = body
  }

  /// Continues the task, if it is still in the wait with this number.
  func wake(_ number: Int) {
    guard number == wait, !hasEnded else { return }
    // A suspended process continues when it is resumed.
    if process.isAlive, process.pauseEnd > simulator.now {
      return simulator.schedule(at: process.pauseEnd) { [weak self] in self?.wake(number) }
    }
    wait += 1
    simulator.current = self
    let stack = stack ?? begin()
    feedstore_coroutine_resume(stack)
    simulator.current = nil
    guard feedstore_coroutine_has_ended(stack) else { return }
    hasEnded = true
    self.stack = nil
    simulator.stacks.giveBack(stack)
    process.tasks.removeAll { $0 === self }
  }

  /// Ends its wait at once, because its process has ended: its next call detects that.
  func interrupt() {
    let number = wait
    simulator.schedule { [self] in wake(number) }
  }

  private func begin() -> OpaquePointer {
    let stack = simulator.stacks.take()
    self.stack = stack
    feedstore_coroutine_prepare(
      stack,
      { Unmanaged<SimulatedTask>.fromOpaque($0!).takeUnretainedValue().run() },
      Unmanaged.passUnretained(self).toOpaque()
    )
    return stack
  }

  private func run() {
    let body = body
    self.body = nil
    body?()
  }

  /// From within: waits for a time or a signal, whichever is first.
  func suspend(until time: Int64, _ signal: Signal?) {
    guard let stack, process.isAlive else { return }
    let number = wait
    if time < .max { simulator.schedule(at: time) { [weak self] in self?.wake(number) } }
    signal?.add(self, number)
    feedstore_coroutine_suspend(stack)
  }
}

/// A process: its tasks die together, and stop together.
public final class SimulatedProcess {
  public let name: String
  public private(set) var isAlive = true
  /// The working time since it has last let time pass, in microseconds.
  public var busy: Int64 = 0
  /// The end of its suspension, in microseconds.
  var pauseEnd: Int64 = 0
  var tasks: [SimulatedTask] = []
  /// The seed of its clients' random choices.
  let seed: UInt64
  var clientCount = 0

  public init(_ name: String, seed: UInt64) {
    self.name = name
    self.seed = seed
  }

  /// Kills it. Its tasks run a last time without any effect, to release their memory.
  public func kill() {
    isAlive = false
    for task in tasks { task.interrupt() }
  }

  /// Suspends it until a time, in microseconds, like a process on a machine that swaps or sleeps.
  public func pause(until time: Int64) { pauseEnd = max(pauseEnd, time) }
}
