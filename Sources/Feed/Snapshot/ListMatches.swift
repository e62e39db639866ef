/// The elements of a new list that the old state has too, in the new order.
struct ListMatches {
  struct Match {
    /// In the new list.
    var index: Int
    /// In the old list.
    var from: Int32
    /// The handle in the old state.
    var old: UInt32
    /// Whether it comes from another list.
    var isCrossing: Bool
  }

  private var matches: [Match] = []
  /// The old indexes of those that come from the same list.
  private var staying: [Int32] = []

  mutating func append(_ index: Int, from: Int32, old: UInt32, isCrossing: Bool) {
    matches.append(Match(index: index, from: from, old: old, isCrossing: isCrossing))
    if !isCrossing { staying.append(from) }
  }

  /// Visits the fewest that must have moved, in the new order: those from other lists, and of the
  /// others those outside of a longest increasing subsequence.
  func forEachMove(_ body: (Match) -> Void) {
    let isKept = LongestIncreasingSubsequence.membership(staying)
    var at = 0
    for match in matches {
      if !match.isCrossing {
        at += 1
        if isKept[at - 1] { continue }
      }
      body(match)
    }
  }
}
