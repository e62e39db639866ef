import Glibc

/// The items of the old state, list by list: where each stands, and whether the new state has it too.
struct OldItems {
  private let state: FeedState
  /// The items of each section, in the order of the sections.
  let lists: [[ElementHandle]]
  /// Where each list begins in `isMatched`.
  private let starts: [Int]
  /// By place and not by handle, so that items that follow one another are noted at once.
  private var isMatched: [Bool]
  /// By handle; empty until many are asked for.
  private var indexes: [Int32] = []
  private var askedCount = 0

  /// - Parameter sections: all of the state's, in order.
  init(_ state: FeedState, _ sections: [ElementHandle]) {
    self.state = state
    lists = sections.map { state.currentHandles(.items(of: $0)) }
    var count = 0
    starts = lists.map { list in
      defer { count += list.count }
      return count
    }
    isMatched = [Bool](repeating: false, count: count)
  }

  /// Where an item stands in its list. O(log n); O(1) once that was asked of one in 128 items.
  mutating func index(of item: ElementHandle) -> Int32 {
    if !indexes.isEmpty { return indexes[item.index] }
    askedCount += 1
    if askedCount > 16 + isMatched.count / 128 { noteIndexes() }
    return state.currentRank(item, state.items[item].scope).number
  }

  private mutating func noteIndexes() {
    let largest = lists.reduce(0) { max($0, $1.lazy.map(\.index).max() ?? 0) }
    indexes = [Int32](repeating: -1, count: largest + 1)
    for list in lists {
      for (index, item) in list.enumerated() { indexes[item.index] = Int32(index) }
    }
  }

  /// Notes that the new state has items too that follow one another in a list.
  @inline(__always)
  mutating func noteMatches(_ index: Int, count: Int = 1, list: Int) {
    let start = starts[list] + index
    isMatched.withUnsafeMutableBufferPointer { isMatched in
      precondition(start >= 0 && count >= 0 && start + count <= isMatched.count)
      (isMatched.baseAddress.unsafelyUnwrapped + start).update(repeating: true, count: count)
    }
  }

  /// The places in a list of items that the new state does not have.
  func unmatched(list: Int) -> [Int] {
    let count = lists[list].count
    var places: [Int] = []
    var index = 0
    while index < count, let next = firstUnmatched(from: starts[list] + index, count: count - index) {
      places.append(index + next)
      index += next + 1
    }
    return places
  }

  /// - Returns: how far behind the place it is.
  private func firstUnmatched(from place: Int, count: Int) -> Int? {
    isMatched.withUnsafeBytes { bytes in
      let start = bytes.baseAddress.unsafelyUnwrapped + place
      return memchr(start, 0, count).map { UnsafeRawPointer($0) - start }
    }
  }
}
