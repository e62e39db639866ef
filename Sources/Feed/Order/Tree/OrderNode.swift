import CXxhash
import Glibc

/// An element in the order tree: its handle, and the orders in which the entry counts.
///
/// An element that did not move has one entry that counts in both. A moved or deleted element leaves a ghost
/// that counts only in the published order; a moved or inserted one has an entry that counts only in the
/// current order.
struct OrderEntry: Equatable {
  let bits: UInt32

  static let published: UInt32 = 1
  static let current: UInt32 = 2

  @inline(__always)
  init(bits: UInt32) { self.bits = bits }

  @inline(__always)
  static func both(_ handle: ElementHandle) -> OrderEntry { OrderEntry(bits: handle.number << 2 | 3) }
  @inline(__always)
  static func ghost(_ handle: ElementHandle) -> OrderEntry { OrderEntry(bits: handle.number << 2 | 1) }
  @inline(__always)
  static func newcomer(_ handle: ElementHandle) -> OrderEntry { OrderEntry(bits: handle.number << 2 | 2) }

  @inline(__always)
  var handle: ElementHandle { ElementHandle(bits >> 2) }
  @inline(__always)
  var isPublished: Bool { bits & 1 != 0 }
  @inline(__always)
  var isCurrent: Bool { bits & 2 != 0 }
  /// 1 for each order in which the entry counts.
  @inline(__always)
  var counts: OrderCounts { OrderCounts(published: Int32(bits & 1), current: Int32(bits >> 1 & 1)) }
}

/// The numbers of elements in the two orders. The elements are in memory, so sums do not overflow.
struct OrderCounts: Equatable {
  var published: Int32 = 0
  var current: Int32 = 0

  /// The number for one of the two orders.
  @inline(__always)
  func number(published: Bool) -> Int32 { published ? self.published : current }

  @inline(__always)
  static func + (one: OrderCounts, other: OrderCounts) -> OrderCounts {
    OrderCounts(published: one.published &+ other.published, current: one.current &+ other.current)
  }

  @inline(__always)
  static func - (one: OrderCounts, other: OrderCounts) -> OrderCounts {
    OrderCounts(published: one.published &- other.published, current: one.current &- other.current)
  }

  @inline(__always)
  static func += (one: inout OrderCounts, other: OrderCounts) { one = one + other }

  @inline(__always)
  static func -= (one: inout OrderCounts, other: OrderCounts) { one = one - other }
}

/// The slots of a node: memory for values of one type; the node knows how many are in use.
///
/// Debug builds check each index against the memory's bounds.
struct OrderSlots<Value> {
  private let base: UnsafeMutablePointer<Value>
  /// Read only by checks, and so not in a release build.
  private let count: Int

  @inline(__always)
  init(_ memory: UnsafeMutableRawPointer, count: Int) {
    base = memory.assumingMemoryBound(to: Value.self)
    self.count = count
  }

  @inline(__always)
  subscript(slot: Int) -> Value {
    get {
      assert(slot >= 0 && slot < count, "there is no such slot")
      return base[slot]
    }
    nonmutating _modify {
      assert(slot >= 0 && slot < count, "there is no such slot")
      yield &base[slot]
    }
  }

  /// Inserts a value before a slot.
  ///
  /// - Parameter used: the number of used slots.
  @inline(__always)
  func insert(_ value: Value, at slot: Int, used: Int) {
    assert(slot >= 0 && slot <= used && used < count, "there is no room in that slot")
    (base + slot + 1).update(from: base + slot, count: used - slot)
    base[slot] = value
  }

  /// Removes a value, and closes the gap.
  ///
  /// - Parameter used: the number of used slots.
  @inline(__always)
  func remove(at slot: Int, used: Int) {
    assert(slot >= 0 && slot < used && used <= count, "there is no value in that slot")
    (base + slot).update(from: base + slot + 1, count: used - slot - 1)
  }

  /// Copies values from another node's slots.
  @inline(__always)
  func update(from slot: Int, with source: OrderSlots, _ sourceSlots: Range<Int>) {
    assert(slot >= 0 && slot + sourceSlots.count <= count, "there are not that many slots")
    assert(sourceSlots.upperBound <= source.count, "the source does not have that many slots")
    (base + slot).update(from: source.base + sourceSlots.lowerBound, count: sourceSlots.count)
  }

  /// Copies values that are not in a node into the slots from one on.
  @inline(__always)
  func update(from slot: Int, with values: UnsafeBufferPointer<Value>) {
    assert(slot >= 0 && slot + values.count <= count, "there are not that many slots")
    if let source = values.baseAddress { (base + slot).update(from: source, count: values.count) }
  }
}

/// A node of the order tree: a leaf with entries, or a branch with children.
///
/// A handle to memory that the tree owns: it dangles once the tree has freed the node. Debug builds check the
/// node's type and the bounds of indices.
struct OrderNode: Equatable {
  private let head: UnsafeMutablePointer<Head>

  /// The common part of leaves and branches, at the beginning of both.
  struct Head {
    var parent: OrderNode?
    /// Entries of a leaf, children of a branch.
    var count: Int32 = 0
    /// 0 for a leaf. The children of a branch are one level below it.
    let level: UInt8
  }

  /// A leaf's own part, followed in memory by its entries.
  private struct LeafHead {
    var head: Head
    let capacity: UInt8
    var previous: OrderNode?
    var next: OrderNode?
    /// Entries that count in each order.
    var counts = OrderCounts()
  }

  /// The capacity of a full leaf.
  static let leafCapacity = 128
  /// The capacity of a branch.
  static let branchCapacity = 32

  // MARK: Memory

  /// A leaf without entries. Small trees have small leaves.
  static func leaf(capacity: Int) -> OrderNode {
    assert(capacity > 0 && capacity <= leafCapacity, "a leaf cannot have that capacity")
    let size = MemoryLayout<LeafHead>.stride + capacity * MemoryLayout<OrderEntry>.stride
    let leaf = allocate(size).bindMemory(to: LeafHead.self, capacity: 1)
    leaf.initialize(to: LeafHead(head: Head(level: 0), capacity: UInt8(capacity)))
    return OrderNode(head: UnsafeMutableRawPointer(leaf).assumingMemoryBound(to: Head.self))
  }

  /// A branch without children.
  static func branch(level: UInt8) -> OrderNode {
    assert(level > 0, "a branch has nodes below it")
    let slotSize = MemoryLayout<OrderNode>.stride + MemoryLayout<OrderCounts>.stride
    let size = MemoryLayout<Head>.stride + branchCapacity * slotSize
    let head = allocate(size).bindMemory(to: Head.self, capacity: 1)
    head.initialize(to: Head(level: level))
    return OrderNode(head: head)
  }

  private static func allocate(_ size: Int) -> UnsafeMutableRawPointer {
    guard let memory = malloc(size) else { fatalError("out of memory") }
    return memory
  }

  /// Frees the node, without its children.
  func free() { Glibc.free(head) }

  // MARK: Every node

  @inline(__always)
  var parent: OrderNode? {
    get { head.pointee.parent }
    nonmutating set { head.pointee.parent = newValue }
  }

  @inline(__always)
  var count: Int {
    get { Int(head.pointee.count) }
    nonmutating set {
      assert(newValue >= 0 && newValue <= capacity, "a node cannot hold that many")
      head.pointee.count = Int32(truncatingIfNeeded: newValue)
    }
  }

  @inline(__always)
  var level: UInt8 { head.pointee.level }

  @inline(__always)
  var isLeaf: Bool { level == 0 }

  var capacity: Int { isLeaf ? Int(leafHead.pointee.capacity) : OrderNode.branchCapacity }

  /// The entries below the node that count in each order.
  var counts: OrderCounts {
    isLeaf ? entryCounts : (0..<count).reduce(into: OrderCounts()) { $0 += childCounts[$1] }
  }

  // MARK: Leaves

  @inline(__always)
  private var leafHead: UnsafeMutablePointer<LeafHead> {
    assert(isLeaf, "a branch is used as a leaf")
    return UnsafeMutableRawPointer(head).assumingMemoryBound(to: LeafHead.self)
  }

  @inline(__always)
  var previous: OrderNode? {
    get { leafHead.pointee.previous }
    nonmutating set { leafHead.pointee.previous = newValue }
  }

  @inline(__always)
  var next: OrderNode? {
    get { leafHead.pointee.next }
    nonmutating set { leafHead.pointee.next = newValue }
  }

  /// A leaf's entries that count in each order.
  @inline(__always)
  var entryCounts: OrderCounts {
    get { leafHead.pointee.counts }
    nonmutating set { leafHead.pointee.counts = newValue }
  }

  @inline(__always)
  var entries: OrderSlots<OrderEntry> {
    OrderSlots(UnsafeMutableRawPointer(leafHead + 1), count: capacity)
  }

  /// Prefetches a leaf, whose entries are searched one after the other.
  @inline(__always)
  func prefetch() {
    for line in stride(from: 0, to: 576, by: 64) { feedstore_prefetch(UnsafeRawPointer(head) + line) }
  }

  // MARK: Branches

  @inline(__always)
  private var branchSlots: UnsafeMutableRawPointer {
    assert(!isLeaf, "a leaf is used as a branch")
    return UnsafeMutableRawPointer(head + 1)
  }

  @inline(__always)
  var children: OrderSlots<OrderNode> { OrderSlots(branchSlots, count: OrderNode.branchCapacity) }

  /// For each child of a branch, its number of entries in each order.
  @inline(__always)
  var childCounts: OrderSlots<OrderCounts> {
    let start = branchSlots + OrderNode.branchCapacity * MemoryLayout<OrderNode>.stride
    return OrderSlots(start, count: OrderNode.branchCapacity)
  }

  /// The slot of a child.
  @inline(__always)
  func slot(of child: OrderNode) -> Int {
    let children = children
    var slot = 0
    while children[slot] != child { slot += 1 }
    assert(slot < count, "a branch does not have that child")
    return slot
  }

  // MARK: Checks

  /// Checks a leaf's numbers against each other and against its parent's, in debug builds.
  @inline(__always)
  func checkLeaf() { assert(isConsistentLeaf, "a leaf's numbers contradict each other") }

  private var isConsistentLeaf: Bool {
    let counts = entryCounts
    guard isLeaf, count <= capacity, (0...count).contains(Int(counts.published)),
      (0...count).contains(Int(counts.current)), Int(counts.published + counts.current) >= count
    else { return false }
    return parent.map { $0.level == 1 && $0.childCounts[$0.slot(of: self)] == counts } ?? true
  }
}
