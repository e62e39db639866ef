/// How many elements of a list stand before one, in one of its two orders.
package struct Rank: Comparable, Sendable {
  let number: Int32

  @inline(__always)
  init(_ number: Int32) { self.number = number }

  @inline(__always)
  init(_ number: Int) { self.number = Int32(number) }

  static var first: Rank {
    @inline(__always) get { Rank(0 as Int32) }
  }

  @inline(__always)
  package static func < (left: Rank, right: Rank) -> Bool { left.number < right.number }

  @inline(__always)
  static func + (rank: Rank, count: Int32) -> Rank { Rank(rank.number + count) }

  @inline(__always)
  static func - (rank: Rank, count: Int32) -> Rank { Rank(rank.number - count) }

  @inline(__always)
  static func += (rank: inout Rank, count: Int32) { rank = rank + count }

  @inline(__always)
  static func -= (rank: inout Rank, count: Int32) { rank = rank - count }
}

extension Rank: Packable {
  static var vacant: Rank {
    @inline(__always) get { Rank(-1 as Int32) }
  }
}

extension Rank: CustomStringConvertible {
  package var description: String { number.description }
}
