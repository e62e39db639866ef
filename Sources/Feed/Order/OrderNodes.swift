import Glibc

/// A leaf of the order tree: a header, followed in memory by its entries.
struct OrderLeaf {
  var parent: UnsafeMutablePointer<OrderBranch>?
  var previous: UnsafeMutablePointer<OrderLeaf>?
  var next: UnsafeMutablePointer<OrderLeaf>?
  var count: Int32 = 0
  var capacity: Int32
  /// Entries that count in the published order.
  var published: Int32 = 0
  /// Entries that count in the current order.
  var current: Int32 = 0

  /// Full leaves hold this many entries.
  static let fullCapacity: Int32 = 128
}

typealias LeafPointer = UnsafeMutablePointer<OrderLeaf>
typealias BranchPointer = UnsafeMutablePointer<OrderBranch>

extension UnsafeMutablePointer where Pointee == OrderLeaf {
  /// A leaf without entries. Small trees have small leaves.
  static func make(capacity: Int32) -> LeafPointer {
    let size = MemoryLayout<OrderLeaf>.stride + Int(capacity) * MemoryLayout<OrderEntry>.stride
    guard let memory = malloc(size) else { fatalError("out of memory") }
    let leaf = memory.bindMemory(to: OrderLeaf.self, capacity: 1)
    leaf.initialize(to: OrderLeaf(parent: nil, previous: nil, next: nil, capacity: capacity))
    return leaf
  }

  @inline(__always)
  var entries: UnsafeMutablePointer<OrderEntry> {
    UnsafeMutableRawPointer(self + 1).assumingMemoryBound(to: OrderEntry.self)
  }
}

/// An inner node: children with their counts beside them, so that a rank reads one node a level.
struct OrderBranch {
  var parent: BranchPointer?
  var count: Int32 = 0
  /// Whether the children are leaves.
  var holdsLeaves: Bool

  static let capacity: Int32 = 32
}

extension UnsafeMutablePointer where Pointee == OrderBranch {
  static func make(holdsLeaves: Bool) -> BranchPointer {
    let slots = Int(OrderBranch.capacity)
    let size =
      MemoryLayout<OrderBranch>.stride + slots
      * (MemoryLayout<UnsafeMutableRawPointer>.stride + 2 * MemoryLayout<Int32>.stride)
    guard let memory = malloc(size) else { fatalError("out of memory") }
    let branch = memory.bindMemory(to: OrderBranch.self, capacity: 1)
    branch.initialize(to: OrderBranch(parent: nil, holdsLeaves: holdsLeaves))
    return branch
  }

  /// The children, leaves or branches.
  @inline(__always)
  var children: UnsafeMutablePointer<UnsafeMutableRawPointer> {
    UnsafeMutableRawPointer(self + 1).assumingMemoryBound(to: UnsafeMutableRawPointer.self)
  }

  /// For each child, its entries in the published order.
  @inline(__always)
  var published: UnsafeMutablePointer<Int32> {
    UnsafeMutableRawPointer(children + Int(OrderBranch.capacity)).assumingMemoryBound(to: Int32.self)
  }

  /// For each child, its entries in the current order.
  @inline(__always)
  var current: UnsafeMutablePointer<Int32> { published + Int(OrderBranch.capacity) }

  /// The slot of a child.
  @inline(__always)
  func slot(of child: UnsafeMutableRawPointer) -> Int {
    let children = children
    var slot = 0
    while children[slot] != child { slot += 1 }
    return slot
  }
}
