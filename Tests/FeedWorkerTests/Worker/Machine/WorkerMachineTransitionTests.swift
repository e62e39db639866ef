import FeedTransactions
import Foundation
import Testing

@testable import FeedWorker
@testable import Kafka

/// Every event in every state.
struct WorkerMachineTransitionTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "WorkerMachineTransitions.txt")

  @Test(arguments: WorkerMachineStates.ways.map(\.name))
  func `only what comes of the action under way is a transition, and anything else changes nothing`(
    _ name: String
  ) throws {
    let (machine, action) = try #require(WorkerMachineStates.machine(named: name))
    var taken = 0
    for event in WorkerMachineStates.events {
      var changed = machine
      let next = changed.transition(event, at: 0)
      if event.kind != action.eventKind {
        #expect(next == nil, "\(event) in \(name)")
      } else if case .called(let outcome, _) = event {
        switch action {
        case .call(let step, _): #expect((next != nil) == outcome.fits(step), "\(event) in \(name)")
        case .prepareProducer(let step):
          var fits = outcome.fits(step)
          // Only transactions can have refused records.
          if case .refused = outcome { fits = false }
          #expect((next != nil) == fits, "\(event) in \(name)")
        default: Issue.record("\(action) has no calls")
        }
      } else {
        #expect(next != nil, "\(event) in \(name)")
      }
      if next == nil { #expect(changed == machine, "\(event) in \(name)") } else { taken += 1 }
    }
    #expect((taken > 0) == (action.eventKind != nil))
  }

  @Test func `every state is reached, and none twice`() throws {
    let states = try WorkerMachineStates.ways.map {
      WorkerMachineTexts.text(try #require(WorkerMachineStates.machine(named: $0.name)).machine)
    }
    #expect(Set(states).count == states.count, "\(states.sorted())")
    for state in [
      "starting", "joining", "applying", "betweenSlices", "resuming", "looking", "rejoining", "polling",
      "preparing.polling", "preparing.calling", "restoring", "flushing.beginning",
      "flushing.calling begin", "flushing.calling write", "flushing.calling addOffsets",
      "flushing.calling commit", "flushing.calling abort", "flushing.calling replace",
      "flushing.calling register",
      "flushing.waiting", "flushing.confirming", "flushing.withdrawing",
      "flushing.checkingSchedule", "flushing.servingGroup", "flushing.pausing", "losing", "rollingBack",
      "rewinding", "restoringAgain", "rebalancing.checking", "rebalancing.givingUp",
      "rebalancing.completing", "rebalancing.accepting", "rebalancing.taking", "rebalancing.readingOn",
      "rebalancing.replacing", "closing", "ended",
    ] {
      #expect(states.contains { $0.hasPrefix(state) }, "no way leads to \(state)")
    }
  }

  /// `FEEDSTORE_UPDATE_GOLDEN` rewrites the table.
  @Test func `the table of transitions is the one that was reviewed`() throws {
    var lines: [String] = []
    for way in WorkerMachineStates.ways {
      let (machine, action) = try #require(WorkerMachineStates.machine(named: way.name))
      let state = WorkerMachineTexts.text(machine)
      lines.append("\(state): \(WorkerMachineTexts.text(action))")
      for event in WorkerMachineStates.events {
        var machine = machine
        guard let next = machine.transition(event, at: 0) else { continue }
        lines.append(
          "  \(WorkerMachineTexts.text(event)) -> \(WorkerMachineTexts.text(machine)): \(WorkerMachineTexts.text(next))"
        )
      }
    }
    let text = lines.joined(separator: "\n") + "\n"
    if ProcessInfo.processInfo.environment["FEEDSTORE_UPDATE_GOLDEN"] != nil {
      try Data(text.utf8).write(to: Self.file)
    }
    let reviewed = String(decoding: try Data(contentsOf: Self.file), as: UTF8.self).split(separator: "\n")
    let present = text.split(separator: "\n")
    for (old, new) in zip(reviewed, present) where old != new {
      Issue.record("expected: \(old)\nfound: \(new)")
      break
    }
    #expect(reviewed.count == present.count)
  }

  @Test func `an event that is not one of the state's ends the process`() async {
    await #expect(processExitsWith: .failure) {
      var machine = WorkerMachine()
      _ = machine.handle(.applied(.everything), at: 0)
    }
  }

  @Test func `an outcome that is not one of the call's ends the process`() async {
    await #expect(processExitsWith: .failure) {
      var (machine, _) = WorkerMachineStates.machine(WorkerMachineStates.toCommitting)
      _ = machine.handle(WorkerMachineStates.wrote, at: 0)
    }
  }
}
