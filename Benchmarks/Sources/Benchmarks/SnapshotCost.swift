import Feed
import Workloads

/// The cost of the difference between two snapshots, next to a plain comparison of as many numbers.
enum SnapshotCost {
  private static let rounds = 31

  private struct Case {
    let name: String
    let itemCount: Int
    let deletedCount: Int
    let insertedCount: Int
    let movedCount: Int
    /// The number of items with other data in the second snapshot.
    let updatedCount: Int
  }

  private static let cases = [
    Case(
      name: "one replacement",
      itemCount: 100_000,
      deletedCount: 10_000,
      insertedCount: 10_000,
      movedCount: 2_000,
      updatedCount: 0
    ),
    Case(
      name: "100 changes",
      itemCount: 1_000_000,
      deletedCount: 25,
      insertedCount: 25,
      movedCount: 25,
      updatedCount: 25
    ),
  ]

  static func run() {
    var table = MarkdownTable(
      "snapshots",
      "items",
      "entries",
      "moves",
      "difference",
      "plain",
      "times the plain one"
    )
    for measured in cases {
      do {
        try measure(measured, &table)
      } catch {
        preconditionFailure("the benchmark's snapshots are refused: \(error)")
      }
    }
    print("### The difference of two snapshots\n\nProcessor time, medians of \(rounds) rounds.\n")
    print(table.text)
  }

  private static func measure(_ measured: Case, _ table: inout MarkdownTable) throws(SnapshotError) {
    var random = RandomNumbers(seed: 1)
    var freshNumber = measured.itemCount
    let oldOrder = Array(0..<measured.itemCount)
    let newOrder = ReplacedFeed.changed(
      oldOrder,
      &random,
      &freshNumber,
      deletedCount: measured.deletedCount,
      insertedCount: measured.insertedCount,
      movedCount: measured.movedCount
    )
    let old = try snapshot(oldOrder, updated: [])
    let updated = Set((0..<measured.updatedCount).map { _ in newOrder[random.below(newOrder.count)] })
    let new = try snapshot(newOrder, updated: updated)
    var times = Samples()
    var plainTimes = Samples()
    var difference = SnapshotDifference()
    var plain = PlainDifference(from: oldOrder, to: newOrder)
    // Alternating, so that other load on the machine affects both equally.
    for _ in 0..<rounds {
      // Freed here, so that it does not count as part of finding the next one.
      difference = SnapshotDifference()
      let started = ThreadTime.current()
      difference = new.difference(from: old)
      let found = ThreadTime.current()
      plain = PlainDifference(from: oldOrder, to: newOrder)
      plainTimes.add(ThreadTime.current() - found)
      times.add(found - started)
    }
    precondition(
      difference.items.deletes.count == plain.deletes && difference.items.inserts.count == plain.inserts
        && difference.items.moves.count == plain.moves,
      "the two comparisons disagree"
    )
    table.add(
      measured.name,
      Format.grouped(measured.itemCount),
      Format.grouped(difference.count),
      Format.grouped(plain.moves),
      Format.milliseconds(times.median),
      Format.milliseconds(plainTimes.median),
      Format.decimal(times.median / plainTimes.median)
    )
  }

  private static func snapshot(_ order: [Int], updated: Set<Int>) throws(SnapshotError) -> Snapshot {
    var snapshot = Snapshot()
    try snapshot.appendSections(["stories"])
    var items: [Snapshot.Item] = []
    for number in order {
      let data = #"{"n":\#(number),"v":\#(updated.contains(number) ? 2 : 1)}"#
      items.append(
        Snapshot.Item(
          try ItemIdentifier(validating: SampleData.id(number)),
          kind: "story",
          data: try JSONData(validating: data)
        )
      )
    }
    try snapshot.appendItems(items, toSection: "stories")
    return snapshot
  }
}
