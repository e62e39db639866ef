import Oracle
import Testing

@testable import Feed

@Suite struct SnapshotRandomTests {
  /// A run: how many identifiers of items there are, so that lists are short, of one leaf, or of many.
  struct Run: Sendable, CustomTestStringConvertible {
    var itemCount: Int
    var steps: Int
    var seed: UInt64
    var testDescription: String { "\(itemCount) items, \(steps) steps, seed \(seed)" }
  }

  /// A moment of a history.
  struct Version {
    var snapshot: Snapshot
    var model: SnapshotModel
  }

  static let runs: [Run] =
    (1...10).map { Run(itemCount: 10, steps: 200, seed: $0) }
    + (11...14).map { Run(itemCount: 150, steps: 150, seed: $0) }
    + (15...16).map { Run(itemCount: 1500, steps: 40, seed: $0) }

  @Test(arguments: runs)
  func `a snapshot holds after each edit what plain arrays hold`(run: Run) {
    var generator = SnapshotEditGenerator(seed: run.seed, itemCount: run.itemCount)
    var snapshot = Snapshot()
    var model = SnapshotModel()
    var refusals: Set<SnapshotError.Code> = []
    for step in 0..<run.steps {
      let edit = generator.edit(model)
      // Another copy now and then, so that storage is shared at some edits and at others not.
      let copy = step % 3 == 0 ? snapshot : nil
      let expected = model.applying(edit)
      do {
        try edit.apply(to: &snapshot)
        guard case .success(let changed) = expected else {
          Issue.record("\(run.testDescription), step \(step): \(edit) should fail: \(expected)")
          return
        }
        if let copy, let complaint = model.complaint(about: copy) {
          Issue.record("\(run.testDescription), step \(step): \(edit) changed a copy: \(complaint)")
          return
        }
        model = changed
      } catch let error as SnapshotError {
        refusals.insert(error.code)
        guard expected == .failure(SnapshotModelError(error.code)) else {
          Issue.record(
            "\(run.testDescription), step \(step): \(edit) failed with \(error), expected \(expected)"
          )
          return
        }
      } catch {
        Issue.record("\(run.testDescription), step \(step): unexpected \(error)")
      }
      if let complaint = model.complaint(about: snapshot) {
        Issue.record("\(run.testDescription), step \(step), after \(edit): \(complaint)")
        return
      }
    }
    #expect(refusals.count >= 3, "the run tried too few kinds of wrong edits: \(refusals)")
  }

  @Test(arguments: runs)
  func `the difference of any two snapshots of a history is exact, fewest and applicable`(run: Run) throws {
    var generator = SnapshotEditGenerator(seed: run.seed &+ 1000, itemCount: run.itemCount)
    var random = SplitMix64(seed: run.seed)
    var snapshot = Snapshot()
    var model = SnapshotModel()
    var history = [Version(snapshot: snapshot, model: model)]
    for step in 0..<run.steps {
      let edit = generator.edit(model)
      guard case .success(let changed) = model.applying(edit) else { continue }
      try edit.apply(to: &snapshot)
      model = changed
      let current = Version(snapshot: snapshot, model: model)
      history.append(current)
      // Backwards in time too.
      let pick = random.pick(history)
      let (old, new) = step.isMultiple(of: 4) ? (current, pick) : (pick, current)
      let difference = new.snapshot.difference(from: old.snapshot)
      let expectation = SnapshotExpectation(from: old.model, to: new.model)
      if let complaint = expectation.complaint(about: difference) {
        Issue.record("\(run.testDescription), step \(step): \(complaint)")
        return
      }
      let result = try old.snapshot.applying(difference)
      var unmarked = new.model
      (unmarked.reloadedItems, unmarked.reconfiguredItems, unmarked.reloadedSections) = ([], [], [])
      if let complaint = unmarked.complaint(about: result) {
        Issue.record("\(run.testDescription), step \(step): applying went wrong: \(complaint)")
        return
      }
      #expect(result.hasSameContent(as: new.snapshot))
      #expect(old.snapshot.hasSameContent(as: new.snapshot) == (old.model.feed == new.model.feed))
    }
  }
}
