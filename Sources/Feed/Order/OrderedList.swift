/// Names a list of a feed: the sections, or one section's items.
struct Scope: Hashable {
  /// The list's index among the state's lists: the sections' list is first.
  private let number: UInt32

  @inline(__always)
  private init(number: UInt32) { self.number = number }

  /// The list of sections.
  static var sections: Scope {
    @inline(__always) get { Scope(number: 0) }
  }

  /// The list of a section's items.
  @inline(__always)
  static func items(of section: ElementHandle) -> Scope { Scope(number: section.number + 1) }

  @inline(__always)
  var isSections: Bool { number == 0 }

  /// The section of a list of items.
  @inline(__always)
  var section: ElementHandle {
    assert(!isSections, "the list of sections is in no section")
    return ElementHandle(number &- 1)
  }

  @inline(__always)
  var index: Int { Int(number) }
}

extension Scope: Packable {
  /// No section has a handle this large: an `OrderEntry` holds 30 bits.
  static var vacant: Scope {
    @inline(__always) get { Scope(number: .max) }
  }
}

/// A list of a feed, its sections or one section's items, with values that are kept up to date.
struct OrderedList {
  var tree = OrderTree()
  /// The sum of the checksum terms of the list's elements, current and published.
  var checksum: UInt32 = 0
  var publishedChecksum: UInt32 = 0
  /// Whether the order changed since the last publication.
  var isReordered = false
  /// Whether the whole list was replaced since the last publication.
  var isReplaced = false
  /// Whether the fewest moves need the whole list: it was replaced, and its order also changed otherwise.
  var needsWholeOrder = false
  /// Of a section: the order and the limit of its items; nil if it has neither.
  var settings: SectionSettings?
  var publishedSettings: SectionSettings?
  /// Whether the items of an ordered section are sorted, with known keys.
  var isSorted = false
  /// Where searches for places in an ordered section begin.
  var landmarks: Landmarks?
  /// For the difference: the number of changes in this list, and its section's positions.
  var touchCount: Int32 = 0
  var publishedRank = PackedOptional<Rank>.none
  var currentRank = PackedOptional<Rank>.none

  /// Whether the section's order or limit differs from the published one.
  var hasNewSettings: Bool {
    settings !== publishedSettings && !SectionSettings.areEqual(settings, publishedSettings)
  }

  /// Records that single elements were inserted, moved or removed.
  mutating func noteSingleChange() {
    if isReplaced { needsWholeOrder = true }
    isReordered = true
  }

  /// Records that the list was replaced, even if by the same elements.
  mutating func noteReplacement() {
    if isReordered { needsWholeOrder = true }
    isReplaced = true
  }
}

/// The number of elements before one in a list, in one of its two orders.
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

/// Steps through the current elements of a list; valid until the tree changes.
package struct CurrentCursor {
  private let tree: OrderTree
  private var leaf: OrderNode?
  private var index: Int
  /// The number of remaining elements, so that ghosts after the last one are not visited.
  private var remaining: Int32

  /// Before the first element.
  init(_ tree: OrderTree) {
    self.tree = tree
    let first = tree.select(current: .first)
    leaf = first?.leaf
    index = first?.index ?? 0
    remaining = tree.currentCount
  }

  /// After an entry of a tree.
  init(_ tree: OrderTree, after position: OrderTree.Position) {
    self.tree = tree
    leaf = position.leaf
    index = position.index + 1
    remaining = Int32.max
  }

  /// The next element, or nil at the end. O(log n) at most, for any number of ghosts before it.
  package mutating func peek() -> ElementHandle? {
    guard remaining > 0 else { return nil }
    while let node = leaf {
      if node.entryCounts.current == 0 {
        // Many more leaves with only ghosts may follow, so they are not visited one by one.
        let next = tree.select(current: tree.ranks(OrderTree.Position(leaf: node, index: 0)).current)
        (leaf, index) = (next?.leaf, next?.index ?? 0)
        return next?.entry.handle
      }
      while index < node.count {
        let entry = node.entries[index]
        if entry.isCurrent { return entry.handle }
        index += 1
      }
      leaf = node.next
      index = 0
    }
    return nil
  }

  /// Advances past the element that `peek` returned.
  mutating func advance() {
    index += 1
    remaining -= 1
  }

  /// Returns the next element and advances; nil at the end.
  package mutating func next() -> ElementHandle? {
    let handle = peek()
    if handle != nil { advance() }
    return handle
  }
}

/// Finds the elements of a sequence of distinct numbers that can stay, so that the fewest must move: a
/// longest increasing subsequence, by patience sorting with binary search (Fredman, "On computing the length
/// of longest increasing subsequences", 1975): O(n log n), O(n) if the sequence is already sorted.
enum LongestIncreasingSubsequence {
  /// True at the positions of one longest increasing subsequence; the same one for the same input.
  static func membership(_ values: [Int32]) -> [Bool] {
    let count = values.count
    var isMember = [Bool](repeating: true, count: count)
    var sorted = 1
    while sorted < count, values[sorted - 1] < values[sorted] { sorted += 1 }
    if sorted >= count { return isMember }

    // tails[k]: position of the smallest last element of an increasing subsequence of k + 1 elements.
    var tails: [Int32] = []
    tails.reserveCapacity(count)
    var predecessor = [Int32](repeating: -1, count: count)
    values.withUnsafeBufferPointer { values in
      predecessor.withUnsafeMutableBufferPointer { predecessor in
        for position in 0..<count {
          let value = values[position]
          var low = tails.count
          if low == 0 || values[Int(tails[low - 1])] < value {
            // Longer by one: the common case of a list that is nearly in order.
          } else {
            low = 0
            var high = tails.count - 1
            while low < high {
              let middle = (low + high) / 2
              if values[Int(tails[middle])] < value { low = middle + 1 } else { high = middle }
            }
          }
          if low > 0 { predecessor[position] = tails[low - 1] }
          if low == tails.count { tails.append(Int32(position)) } else { tails[low] = Int32(position) }
        }
      }
    }
    isMember.withUnsafeMutableBufferPointer { $0.update(repeating: false) }
    var position = tails.last ?? -1
    while position >= 0 {
      isMember[Int(position)] = true
      position = predecessor[Int(position)]
    }
    return isMember
  }
}
