/// The slots of a node: memory for values of one kind, of which the node knows how many are in use.
///
/// Builds for debugging check each index against the memory's bounds.
struct OrderSlots<Value> {
  private let base: UnsafeMutablePointer<Value>
  /// Read by checks alone, and so not at all in a release.
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

  /// Inserts a value before those from a slot on.
  ///
  /// - Parameter used: how many slots are in use.
  @inline(__always)
  func insert(_ value: Value, at slot: Int, used: Int) {
    assert(slot >= 0 && slot <= used && used < count, "there is no room in that slot")
    (base + slot + 1).update(from: base + slot, count: used - slot)
    base[slot] = value
  }

  /// Removes a value, and closes the gap.
  ///
  /// - Parameter used: how many slots are in use.
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

  /// Copies values that are not in a node yet into the slots from one on.
  @inline(__always)
  func update(from slot: Int, with values: UnsafeBufferPointer<Value>) {
    assert(slot >= 0 && slot + values.count <= count, "there are not that many slots")
    if let source = values.baseAddress { (base + slot).update(from: source, count: values.count) }
  }
}
