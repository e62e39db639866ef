import FeedTransactions
import Oracle
import Testing

@testable import FeedWorker

struct WorkerWalkTests {
  @Test(arguments: RandomCases.seeds(1...200))
  func `whatever happens, no promise of the machine is broken, and it comes to rest`(seed: UInt64) {
    var walk = WorkerWalk(seed: seed)
    for _ in 0..<2_000 where !walk.hasEnded && walk.fault == nil { walk.step() }
    report(walk, seed)
    if walk.hasEnded || walk.fault != nil { return }
    walk.isCalm = true
    for _ in 0..<2_000 where walk.fault == nil { walk.step() }
    report(walk, seed)
    if walk.hasEnded { return }
    let states = walk.machine.partitions.numbers.map(walk.machine.partitions.state)
    #expect(walk.machine.partitions.numbers == walk.held, "seed \(seed)")
    #expect(states.allSatisfy { $0 == .serving || $0 == .assigned }, "seed \(seed): \(states)")
    #expect(walk.restoring.isEmpty, "seed \(seed)")
    #expect(walk.pending.isEmpty, "seed \(seed)")
    #expect(walk.machine.transactions.isReady, "seed \(seed)")
  }

  @Test func `every action is asked for, and most walks are long`() {
    var counts: [String: Int] = [:]
    var steps = 0
    for seed in UInt64(1)...60 {
      var walk = WorkerWalk(seed: seed)
      for _ in 0..<2_000 where !walk.hasEnded && walk.fault == nil { walk.step() }
      for (_, action, _) in walk.history {
        counts[String(WorkerMachineTexts.text(action).prefix(while: \.isLetter)), default: 0] += 1
      }
      steps += walk.history.count
    }
    let rare = [
      "findTopics", "join", "rejoin", "replaceConsumer", "close", "fail", "apply", "look", "poll",
      "pollWithoutInput", "checkSchedule", "serveGroup", "resumeInput", "rewind", "restore", "restoreAgain",
      "prepareProducer", "beginFlush", "call", "wait", "confirm", "withdraw", "lose", "rollBack",
      "checkPending",
      "complete", "take", "giveUp", "readOn",
    ].filter { counts[$0, default: 0] < 3 }
    #expect(rare.isEmpty, "\(counts)")
    #expect(steps > 20_000, "\(steps)")
  }

  private func report(_ walk: WorkerWalk, _ seed: UInt64) {
    guard let fault = walk.fault else { return }
    let lines = walk.history.suffix(40).map { time, action, event in
      "\(time): \(WorkerMachineTexts.text(action)) -> \(event.map(WorkerMachineTexts.text) ?? "nothing")"
    }
    Issue.record("seed \(seed): \(fault)\n\(lines.joined(separator: "\n"))")
  }
}
