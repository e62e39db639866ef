import FeedTestSupport
import Testing

@testable import Feed

struct BatchUpdatesTests {
  private static func snapshot(_ sections: [(SectionIdentifier, [ItemIdentifier])]) throws -> Snapshot {
    var snapshot = Snapshot()
    for (section, items) in sections {
      try snapshot.appendSections([section])
      try snapshot.appendItems(items, toSection: section)
    }
    return snapshot
  }

  @Test func `an item that moves and changes is moved first, and then reloaded where it is`() throws {
    let old = try Self.snapshot([("s", ["a", "b", "c"])])
    var new = old
    try new.moveItem("a", afterItem: "c")
    try new.setKind("k", ofItem: "a")
    try new.reconfigureItems(["b"])
    let updates = try BatchUpdates(new.difference(from: old), from: old, to: new)
    #expect(updates.stages.count == 2)
    #expect(
      updates.stages[0].movedItems == [
        BatchStage.ItemMove(from: ItemPath(section: 0, item: 0), to: ItemPath(section: 0, item: 2))
      ]
    )
    #expect(updates.stages[1].reloadedItems == [ItemPath(section: 0, item: 2)])
    #expect(updates.stages[1].reconfiguredItems == [ItemPath(section: 0, item: 0)])
  }

  @Test func `sections come and go in one stage with the items of others`() throws {
    let old = try Self.snapshot([("gone", ["x"]), ("s", ["a", "b"])])
    let new = try Self.snapshot([("s", ["b", "c"]), ("come", ["y", "z"])])
    let updates = try BatchUpdates(new.difference(from: old), from: old, to: new)
    #expect(updates.stages.count == 1)
    #expect(updates.stages[0].deletedSections == [0])
    #expect(updates.stages[0].insertedSections == [1])
    #expect(updates.stages[0].deletedItems == [ItemPath(section: 1, item: 0)])
    #expect(updates.stages[0].insertedItems == [ItemPath(section: 0, item: 1)])
  }

  @Test func `items move out of sections that go and into sections that come in stages of their own`() throws
  {
    let old = try Self.snapshot([("gone", ["a", "x"]), ("s", ["b"])])
    let new = try Self.snapshot([("come", ["b", "new", "a"]), ("s", []), ("other", ["y"])])
    let updates = try BatchUpdates(new.difference(from: old), from: old, to: new)
    var view = CollectionViewSimulator(old)
    for stage in updates.stages { try view.perform(stage) }
    #expect(view.sections == CollectionViewSimulator.sections(of: new))
    #expect(updates.stages.map(\.movedItems.count) == [0, 2, 0])
    #expect(updates.stages.map(\.insertedSections) == [[0], [], [2]])
    #expect(updates.stages.map(\.deletedSections) == [[], [], [1]])
  }

  @Test func `nothing is done where nothing changes`() throws {
    let snapshot = try Self.snapshot([("s", ["a"])])
    #expect(try BatchUpdates(SnapshotDifference(), from: snapshot, to: snapshot).stages.isEmpty)
  }

  @Test func `a difference of other snapshots is refused`() throws {
    let old = try Self.snapshot([("s", ["a"])])
    let new = try Self.snapshot([("s", ["a", "b"])])
    let error = #expect(throws: SnapshotError.self) {
      try BatchUpdates(new.difference(from: old), from: old, to: Snapshot())
    }
    #expect(error?.code == .mismatch)
  }

  @Test(arguments: SnapshotRandomTests.runs.filter { $0.itemCount <= 150 })
  func `a collection view comes to the new snapshot, stage by stage`(run: SnapshotRandomTests.Run) throws {
    var generator = SnapshotEditGenerator(seed: run.seed &+ 2000, itemCount: run.itemCount)
    var random = SplitMix64(seed: run.seed)
    var snapshot = Snapshot()
    var model = SnapshotModel()
    var history = [snapshot]
    var stageCounts: Set<Int> = []
    for step in 0..<run.steps {
      let edit = generator.edit(model)
      guard case .success(let changed) = model.applying(edit) else { continue }
      try edit.apply(to: &snapshot)
      model = changed
      history.append(snapshot)
      // Each step costs as much as the lists are long.
      guard run.itemCount < 20 || step.isMultiple(of: 3) else { continue }
      let old = random.pick(history)
      let updates = try BatchUpdates(snapshot.difference(from: old), from: old, to: snapshot)
      stageCounts.insert(updates.stages.count)
      var view = CollectionViewSimulator(old)
      do {
        for stage in updates.stages { try view.perform(stage) }
      } catch {
        Issue.record("\(run.testDescription), step \(step): \(error)")
        return
      }
      guard view.sections == CollectionViewSimulator.sections(of: snapshot) else {
        Issue.record("\(run.testDescription), step \(step): the view is not at the new snapshot")
        return
      }
      for item in snapshot.itemIdentifiers where old.position(ofItem: item) != nil {
        let isSame =
          old.data(ofItem: item) == snapshot.data(ofItem: item)
          && old.kind(ofItem: item) == snapshot.kind(ofItem: item)
        guard isSame || view.renewed.contains(item) else {
          Issue.record("\(run.testDescription), step \(step): \(item) is shown as it was")
          return
        }
      }
    }
    let isFew = run.itemCount < 20 && (stageCounts.max() ?? 0) < 3
    #expect(!isFew, "the run came to few kinds of stages: \(stageCounts)")
  }
}
