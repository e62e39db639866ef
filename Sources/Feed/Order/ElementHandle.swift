/// Names an element of an ``ElementTable``. An element keeps its handle until it is destroyed; another may then have it.
package struct ElementHandle: Hashable, Sendable {
  /// Where the element stands in its table.
  let number: UInt32

  @inline(__always)
  init(_ number: UInt32) { self.number = number }

  @inline(__always)
  var index: Int { Int(number) }
}
