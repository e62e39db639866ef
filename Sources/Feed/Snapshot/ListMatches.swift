import Glibc

/// The elements of a new list that the old state has too, in the new order.
///
/// Elements that follow one another in both lists are kept as one *run*, so that two lists that are nearly the same take hardly any
/// memory. A longest increasing subsequence has all elements of a run or none of them: between two numbers that follow one
/// another there is no other.
struct ListMatches {
  struct Match {
    /// In the new list.
    var index: Int
    /// In the old list.
    var from: Int32
    /// The handle in the old state of an element that comes from another list.
    var crossing: ElementHandle?
  }

  private struct Run {
    let index: Int
    let from: Int32
    let crossing: ElementHandle?
    var count = 1
  }

  private var runs: [Run] = []

  /// Runs up to which they are compared as such; to insert one into a list of them takes time in proportion to their number.
  private static let fewRuns = 2048

  /// Adds elements that follow one another in the same list as well.
  @inline(__always)
  mutating func append(_ index: Int, from: Int32, count: Int = 1) {
    let last = runs.count - 1
    if last >= 0, runs[last].crossing == nil, runs[last].index + runs[last].count == index,
      Int(runs[last].from) + runs[last].count == Int(from)
    {
      runs[last].count += count
    } else {
      runs.append(Run(index: index, from: from, crossing: nil, count: count))
    }
  }

  /// Adds an element that comes from another list.
  mutating func append(_ index: Int, from: Int32, crossing: ElementHandle) {
    runs.append(Run(index: index, from: from, crossing: crossing))
  }

  /// Visits the fewest that must have moved, in the new order: those from other lists, and of the
  /// others those outside of a longest increasing subsequence.
  func forEachMove(_ body: (Match) -> Void) {
    let isKept = ListMatches.membership(runs.filter { $0.crossing == nil })
    var at = 0
    for run in runs {
      if run.crossing == nil {
        at += 1
        if isKept[at - 1] { continue }
      }
      for place in 0..<run.count {
        body(Match(index: run.index + place, from: run.from + Int32(place), crossing: run.crossing))
      }
    }
  }

  /// Which runs are in a longest increasing subsequence of the old indexes: of several the one that
  /// `LongestIncreasingSubsequence` finds.
  private static func membership(_ runs: [Run]) -> [Bool] {
    if zip(runs, runs.dropFirst()).allSatisfy({ $0.from < $1.from }) {
      return [Bool](repeating: true, count: runs.count)
    }
    guard runs.count <= fewRuns else { return membershipOfMany(runs) }
    // The ends of increasing subsequences, by value: each longer than those before it.
    var ends: [(from: Int32, length: Int, run: Int)] = []
    var predecessor = [Int](repeating: -1, count: runs.count)
    for (number, run) in runs.enumerated() {
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if ends[middle].from < run.from { low = middle + 1 } else { high = middle }
      }
      var length = run.count
      if low > 0 {
        predecessor[number] = ends[low - 1].run
        length += ends[low - 1].length
      }
      // Those that end later and are not longer are not needed any more.
      while high < ends.count, ends[high].length <= length { high += 1 }
      ends.replaceSubrange(low..<high, with: CollectionOfOne((from: run.from, length: length, run: number)))
    }
    var isMember = [Bool](repeating: false, count: runs.count)
    var number = ends.last?.run ?? -1
    while number >= 0 {
      isMember[number] = true
      number = predecessor[number]
    }
    return isMember
  }

  /// The algorithm of `LongestIncreasingSubsequence`, a run at a time: where its first element goes, the others follow, as the
  /// elements that they replace are further apart than they are.
  private static func membershipOfMany(_ runs: [Run]) -> [Bool] {
    let count = runs.reduce(0) { $0 + $1.count }
    // By length less one: the smallest last element of an increasing subsequence, and its run.
    var tails = [Int32](repeating: 0, count: count)
    var tailRuns = [Int32](repeating: 0, count: count)
    var longest = 0
    var predecessor = [Int32](repeating: -1, count: runs.count)
    tails.withUnsafeMutableBufferPointer { tails in
      tailRuns.withUnsafeMutableBufferPointer { tailRuns in
        for (number, run) in runs.enumerated() {
          var low = longest
          if longest > 0, tails[longest - 1] > run.from {
            low = 0
            var high = longest - 1
            while low < high {
              let middle = (low + high) / 2
              if tails[middle] < run.from { low = middle + 1 } else { high = middle }
            }
          }
          if low > 0 { predecessor[number] = tailRuns[low - 1] }
          for place in 0..<run.count {
            tails[low + place] = run.from + Int32(place)
            tailRuns[low + place] = Int32(number)
          }
          longest = max(longest, low + run.count)
        }
      }
    }
    var isMember = [Bool](repeating: false, count: runs.count)
    var number = longest > 0 ? Int(tailRuns[longest - 1]) : -1
    while number >= 0 {
      isMember[number] = true
      number = Int(predecessor[number])
    }
    return isMember
  }
}

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

/// A list of handles as another is compared with it: where each handle stands, and whether
/// the other list has it too.
struct OldOrder {
  /// By handle: its index, or -1. Spares a dictionary, as handles are small numbers.
  private var indexes: [Int32]
  private var isMatched: [Bool]

  init(_ handles: [ElementHandle]) {
    let count = (handles.lazy.map(\.index).max() ?? -1) + 1
    indexes = Array(repeating: -1, count: count)
    isMatched = Array(repeating: false, count: count)
    for (index, handle) in handles.enumerated() { indexes[handle.index] = Int32(index) }
  }

  /// Where a handle stands in its list, which now is known to be in the other list too.
  mutating func match(_ handle: ElementHandle) -> Int32 {
    isMatched[handle.index] = true
    return indexes[handle.index]
  }

  /// Where a handle stands in its list.
  func index(_ handle: ElementHandle) -> Int32 { indexes[handle.index] }

  /// Whether the other list has the handle's element too.
  func isMatched(_ handle: ElementHandle) -> Bool { isMatched[handle.index] }
}
