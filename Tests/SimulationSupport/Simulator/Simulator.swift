import Oracle

/// Virtual time, and all its events, one after another on one thread.
///
/// Simultaneous events happen in the order in which they were scheduled, so a run is a function of its input: it uses
/// no clock, no thread and no source of randomness.
public final class Simulator {
  private struct Event {
    let time: Int64
    let number: UInt64
    let action: () -> Void
  }

  /// Microseconds since the beginning.
  public private(set) var now: Int64 = 0
  /// Milliseconds since the beginning: the clock of the simulated machines.
  public var milliseconds: Int64 { now / 1_000 }
  /// The number of past events.
  public private(set) var eventCount = 0
  /// The running task; nil between two.
  public internal(set) var current: SimulatedTask?
  /// Called with a description of each event, if set.
  public var onLine: ((String) -> Void)?

  private var heap: [Event] = []
  private var nextNumber: UInt64 = 0
  let stacks = CoroutineStacks()

  public init() {}

  /// Schedules an event; without delay, after all that are due now.
  public func schedule(after microseconds: Int64 = 0, _ action: @escaping () -> Void) {
    schedule(at: now + max(0, microseconds), action)
  }

  /// Schedules an event at a time, or now if that has passed.
  public func schedule(at time: Int64, _ action: @escaping () -> Void) {
    push(Event(time: max(now, time), number: nextNumber, action: action))
    nextNumber += 1
  }

  /// Runs due events up to a time, or until a condition holds, which is checked after each event.
  ///
  /// - Parameter microseconds: the time at which to stop.
  public func run(until microseconds: Int64, or isDone: () -> Bool = { false }) {
    while !isDone() {
      guard let first = heap.first, first.time <= microseconds else {
        now = max(now, microseconds)
        return
      }
      let event = pop()
      now = event.time
      eventCount += 1
      event.action()
    }
  }

  /// Cancels all events, and releases their objects. The processes must have ended.
  public func end() {
    heap = []
    onLine = nil
    stacks.free()
  }

  /// Starts a task of a process, which runs in turn.
  @discardableResult
  public func spawn(_ process: SimulatedProcess, _ body: @escaping () -> Void) -> SimulatedTask {
    let task = SimulatedTask(self, process, body)
    process.tasks.append(task)
    schedule { task.wake(0) }
    return task
  }

  /// Records an event.
  public func tell(_ line: @autoclosure () -> String) {
    if let onLine {
      let milliseconds = String(now / 1_000)
      let padding = String(repeating: " ", count: max(0, 7 - milliseconds.count))
      onLine("\(padding)\(milliseconds) \(line())")
    }
  }

  // MARK: What a task does

  /// The running task waits for this long.
  public func sleep(_ microseconds: Int64) {
    running.suspend(until: now + max(0, microseconds), nil)
  }

  /// The running task waits for a signal, or until a time.
  public func wait(for signal: Signal, until time: Int64) {
    running.suspend(until: time, signal)
  }

  private var running: SimulatedTask {
    guard let current else { preconditionFailure("only a task can wait") }
    return current
  }

  // MARK: A binary heap

  private func isBefore(_ one: Event, _ other: Event) -> Bool {
    one.time != other.time ? one.time < other.time : one.number < other.number
  }

  private func push(_ event: Event) {
    heap.append(event)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard isBefore(heap[child], heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private func pop() -> Event {
    heap.swapAt(0, heap.count - 1)
    let event = heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if isBefore(heap[child], heap[least]) { least = child }
      }
      if least == parent { return event }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}

/// A condition for which tasks wait, and which others cause.
public final class Signal {
  private unowned let simulator: Simulator
  private var waiting: [(task: SimulatedTask, wait: Int)] = []

  public init(_ simulator: Simulator) { self.simulator = simulator }

  func add(_ task: SimulatedTask, _ wait: Int) { waiting.append((task, wait)) }

  /// Makes all waiting tasks check again.
  public func notify() {
    if waiting.isEmpty { return }
    let tasks = waiting
    waiting = []
    simulator.schedule { for (task, wait) in tasks { task.wake(wait) } }
  }
}

/// Random numbers for a name; the number of draws does not affect other names.
public struct SplitMix64Stream {
  private var generator: SplitMix64

  public init(seed: UInt64, _ name: String) {
    // FNV-1a.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ seed
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    generator = SplitMix64(seed: hash)
  }

  /// A number from 0 up to, but not including, `count`.
  public mutating func below(_ count: Int64) -> Int64 { Int64(generator.next() % UInt64(count)) }

  public mutating func chance(_ percent: Int) -> Bool { generator.chance(percent) }
}
