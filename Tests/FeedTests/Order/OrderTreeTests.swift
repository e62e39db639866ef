import Oracle
import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct OrderTreeTests {
  /// A tree next to two plain lists, one in the published order.
  private struct Model {
    var tree = OrderTree()
    let table = ElementTable()
    var current: [ElementHandle] = []
    /// Every entry in order, as the tree should hold them.
    var entries: [OrderEntry] = []

    mutating func insert(at rank: Int) -> ElementHandle {
      let handle = withSpan("\(table.count)") { table.create($0, ByteHash.of($0)) }
      var place = tree.place(atCurrent: Rank(rank))
      tree.insert(.newcomer(handle), at: &place, table)
      current.insert(handle, at: rank)
      return handle
    }

    /// Adds elements at the end, some of them published.
    mutating func append(_ count: Int, _ random: inout SplitMix64) {
      let handles = (0..<count).map { _ in withSpan("\(table.count)") { table.create($0, ByteHash.of($0)) } }
      let entries = handles.map { random.chance(50) ? OrderEntry.both($0) : .newcomer($0) }
      entries.withUnsafeBufferPointer { tree.append($0, table) }
      current += handles
    }

    func position(_ entry: OrderEntry) -> OrderTree.Position {
      let leaf = entry.isCurrent ? table[entry.handle].leaf : table.withChange(entry.handle) { $0.ghostLeaf }
      guard let leaf else { preconditionFailure("no leaf") }
      return tree.position(of: entry, in: leaf)
    }

    func treeEntries() -> [OrderEntry] {
      var entries: [OrderEntry] = []
      tree.forEachEntry { entries.append($0) }
      return entries
    }
  }

  @Test(arguments: RandomCases.seeds(1...4))
  func `random insertions, removals and ghosts keep ranks and structure`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var model = Model()
    defer { model.tree.removeAll() }
    for step in 0..<6000 {
      let growing = step < 3500
      // None, some, or several leaves full.
      if random.below(200) == 0 { model.append(random.below(random.pick([2, 40, 400])), &random) }
      switch random.below(10) {
      case 0..<(growing ? 6 : 2):
        let rank = random.chance(30) ? model.current.count : random.below(model.current.count + 1)
        _ = model.insert(at: rank)
      case 6, 7:
        guard !model.current.isEmpty else { continue }
        let rank = random.below(model.current.count)
        let handle = model.current.remove(at: rank)
        let entry = model.treeEntries().first { $0.isCurrent && $0.handle == handle }
        guard let entry else { preconditionFailure("an element is not in the tree") }
        if !entry.isPublished {
          model.tree.remove(model.position(entry), model.table)
        } else {
          model.tree.replace(model.position(entry), with: .ghost(handle), model.table)
        }
      case 8:
        // Some new elements become published, so that they leave ghosts later.
        for entry in model.treeEntries().prefix(20) where !entry.isPublished {
          model.tree.replace(model.position(entry), with: .both(entry.handle), model.table)
        }
      default:
        for entry in model.treeEntries().prefix(30) where !entry.isCurrent {
          model.tree.remove(model.position(entry), model.table)
        }
      }
      if step % 50 == 0 { check(model, &random, seed) }
    }
    check(model, &random, seed)
  }

  private func check(_ model: Model, _ random: inout SplitMix64, _ seed: UInt64) {
    model.tree.checkInvariants(model.table)
    let entries = model.treeEntries()
    #expect(entries.filter(\.isCurrent).map(\.handle) == model.current, "seed \(seed)")
    var before = OrderCounts()
    for entry in entries {
      let ranks = model.tree.ranks(model.position(entry))
      #expect(
        ranks.published.number == before.published && ranks.current.number == before.current,
        "seed \(seed)"
      )
      before += entry.counts
    }
    for _ in 0..<min(20, model.current.count) {
      let rank = random.below(model.current.count)
      let position = model.tree.select(current: Rank(rank))
      #expect(position?.entry.handle == model.current[rank], "seed \(seed)")
      guard let position else { continue }
      let (previous, next) = model.tree.currentNeighbours(around: position)
      #expect(previous == (rank > 0 ? model.current[rank - 1] : nil), "seed \(seed)")
      #expect(next == (rank + 1 < model.current.count ? model.current[rank + 1] : nil), "seed \(seed)")
    }
    #expect(model.tree.select(current: Rank(model.current.count)) == nil)
  }

  @Test func `a rebuilt tree holds the entries it was given`() {
    for count in [0, 1, 7, 8, 127, 128, 129, 500, 5000] {
      let table = ElementTable()
      var entries: [OrderEntry] = []
      for number in 0..<count {
        let handle = withSpan("\(number)") { table.create($0, ByteHash.of($0)) }
        entries.append([.both(handle), .ghost(handle), .newcomer(handle)][number % 3])
      }
      var tree = OrderTree()
      entries.withUnsafeBufferPointer { tree.rebuild($0, table) }
      tree.checkInvariants(table)
      var found: [OrderEntry] = []
      tree.forEachEntry { found.append($0) }
      #expect(found == entries)
      #expect(Int(tree.entryCount) == count)
      tree.removeAll()
    }
  }
}
