import Oracle
import Testing

@testable import Feed

/// Debug builds check the use of nodes; test builds are debug builds.
@Suite struct OrderNodeTests {
  @Test func `a leaf's head is followed by its entries`() {
    let leaf = OrderNode.leaf(capacity: 8)
    defer { leaf.free() }
    #expect(leaf.isLeaf && leaf.capacity == 8 && leaf.count == 0)
    #expect(leaf.parent == nil && leaf.previous == nil && leaf.next == nil)
    leaf.count = 8
    for index in 0..<8 { leaf.entries[index] = OrderEntry(bits: UInt32(index) << 2 | 3) }
    leaf.entryCounts = OrderCounts(published: 8, current: 8)
    #expect((0..<8).map { leaf.entries[$0].bits >> 2 } == Array(0..<8))
    #expect(leaf.capacity == 8 && leaf.count == 8 && leaf.counts == leaf.entryCounts)
    leaf.checkLeaf()
  }

  @Test func `a branch holds its children beside their counts`() {
    let branch = OrderNode.branch(level: 1)
    let leaves = (0..<OrderNode.branchCapacity).map { _ in OrderNode.leaf(capacity: 1) }
    defer { for node in leaves + [branch] { node.free() } }
    for (slot, leaf) in leaves.enumerated() {
      leaf.count = 1
      leaf.entryCounts = OrderCounts(published: Int32(slot % 2), current: 1)
      OrderTree.adopt(leaf, branch, slot)
      branch.count = slot + 1
    }
    #expect(leaves.allSatisfy { $0.parent == branch })
    #expect(leaves.map { branch.slot(of: $0) } == Array(leaves.indices))
    #expect(branch.counts == OrderCounts(published: 16, current: 32))
    for leaf in leaves { leaf.checkLeaf() }
  }

  @Test func `slots are shifted on insertion and removal`() {
    let leaf = OrderNode.leaf(capacity: 8)
    defer { leaf.free() }
    func entries() -> [UInt32] { (0..<leaf.count).map { leaf.entries[$0].bits } }
    for (place, bits) in [(0, 1), (0, 2), (2, 3), (1, 7)] as [(Int, UInt32)] {
      leaf.entries.insert(OrderEntry(bits: bits), at: place, used: leaf.count)
      leaf.count += 1
    }
    #expect(entries() == [2, 7, 1, 3])
    leaf.entries.remove(at: 1, used: leaf.count)
    leaf.count -= 1
    #expect(entries() == [2, 1, 3])
  }

  #if DEBUG
    @Test func `a slot beyond the memory ends a build for debugging`() async {
      await #expect(processExitsWith: .failure) {
        _ = OrderNode.leaf(capacity: 8).entries[8]
      }
    }

    @Test func `a leaf used as a branch ends a build for debugging`() async {
      await #expect(processExitsWith: .failure) {
        _ = OrderNode.leaf(capacity: 8).children
      }
    }

    @Test func `a leaf whose counts are wrong ends a build for debugging`() async {
      await #expect(processExitsWith: .failure) {
        let leaf = OrderNode.leaf(capacity: 8)
        leaf.count = 1
        leaf.checkLeaf()
      }
    }
  #endif
}
