import SimulationSupport
import Testing

@Suite struct SimulatorTests {
  private let simulator = Simulator()

  @Test func `what is due at the same time happens in the order in which it was scheduled`() {
    var happened: [Int] = []
    simulator.schedule(after: 20) { happened.append(3) }
    simulator.schedule(after: 10) { happened.append(1) }
    simulator.schedule(after: 10) { happened.append(2) }
    simulator.run(until: 15)
    #expect(happened == [1, 2])
    #expect(simulator.now == 15)
    simulator.run(until: 30)
    #expect(happened == [1, 2, 3])
  }

  @Test func `tasks take turns while they wait`() {
    var happened: [String] = []
    let process = SimulatedProcess("p", seed: 1)
    for name in ["a", "b"] {
      simulator.spawn(process) { [simulator] in
        for _ in 0..<2 {
          happened.append("\(name)\(simulator.now)")
          simulator.sleep(10)
        }
      }
    }
    simulator.run(until: 100)
    #expect(happened == ["a0", "b0", "a10", "b10"])
  }

  @Test func `a process that is killed does not wait any more`() {
    let process = SimulatedProcess("p", seed: 1)
    var turns = 0
    let task = simulator.spawn(process) { [simulator] in
      while process.isAlive {
        turns += 1
        simulator.sleep(10)
      }
    }
    simulator.run(until: 25)
    process.kill()
    simulator.run(until: 25)
    #expect(turns == 3)
    #expect(task.hasEnded)
  }

  @Test func `a process that stands still goes on where it was`() {
    let process = SimulatedProcess("p", seed: 1)
    var times: [Int64] = []
    simulator.spawn(process) { [simulator] in
      for _ in 0..<3 {
        times.append(simulator.now)
        simulator.sleep(10)
      }
    }
    simulator.run(until: 5)
    process.pause(until: 1_000)
    simulator.run(until: 2_000)
    #expect(times == [0, 1_000, 1_010])
  }

  @Test func `a signal ends a wait before its time`() {
    let process = SimulatedProcess("p", seed: 1)
    let signal = Signal(simulator)
    var time: Int64 = -1
    simulator.spawn(process) { [simulator] in
      simulator.wait(for: signal, until: 1_000)
      time = simulator.now
    }
    simulator.schedule(after: 30) { signal.notify() }
    simulator.run(until: 2_000)
    #expect(time == 30)
  }
}
