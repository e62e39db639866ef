/// What tasks wait for that somebody else does.
public final class Signal {
  private unowned let simulator: Simulator
  private var waiting: [(task: SimulatedTask, wait: Int)] = []

  public init(_ simulator: Simulator) { self.simulator = simulator }

  func add(_ task: SimulatedTask, _ wait: Int) { waiting.append((task, wait)) }

  /// Has all that wait look again.
  public func notify() {
    if waiting.isEmpty { return }
    let tasks = waiting
    waiting = []
    simulator.schedule { for (task, wait) in tasks { task.wake(wait) } }
  }
}
