/// The elements common to both states of a list, and the rules for listing them as moved.
struct OracleOrder {
  /// The list's name, for messages.
  let name: String
  /// In the order of the result.
  let elements: [[UInt8]]
  /// The position of each among the same elements in the base.
  let basePositions: [Int]
  /// Whether the list was given completely.
  let isReplaced: Bool
  /// The number of elements that single events placed.
  let placedCount: Int

  init(name: String, base: [[UInt8]], result: [[UInt8]], isReplaced: Bool, placed: Set<[UInt8]>) {
    self.name = name
    let known = Dictionary(uniqueKeysWithValues: base.enumerated().map { ($1, $0) })
    elements = result.filter { known[$0] != nil }
    basePositions = elements.compactMap { known[$0] }
    self.isReplaced = isReplaced
    placedCount = elements.count { placed.contains($0) }
  }

  /// The minimum number of moves from the base's order to the result's.
  var fewest: Int { elements.count - Self.longestIncreasing(basePositions).count }

  /// The maximum number of moves that may be listed.
  var most: Int { isReplaced ? fewest : max(fewest, placedCount) }

  /// One of the minimal sets of moves.
  var fewestMoves: Set<[UInt8]> {
    let kept = Set(Self.longestIncreasing(basePositions).map { elements[$0] })
    return Set(elements).subtracting(kept)
  }

  /// Why these moves are not valid; nil if they are.
  func complaint(about moved: Set<[UInt8]>) -> String? {
    let count = elements.count { moved.contains($0) }
    func isInOrder(_ moved: Set<[UInt8]>) -> Bool {
      let fixed = zip(elements, basePositions).filter { !moved.contains($0.0) }.map(\.1)
      return zip(fixed, fixed.dropFirst()).allSatisfy { $0 < $1 }
    }
    guard isInOrder(moved) else { return "\(name): what is not moved does not keep its order" }
    guard count <= most else {
      return "\(name): \(count) moves, \(fewest) are needed and \(most) allowed"
        + (isReplaced ? " (the list was replaced)" : " (placed one by one)")
    }
    // None of a minimal set can be left out.
    if count == fewest { return nil }
    for element in elements where moved.contains(element) && isInOrder(moved.subtracting([element])) {
      return "\(name): the move of \(String(decoding: element, as: UTF8.self)) is idle"
    }
    return nil
  }

  /// The indices of a longest strictly increasing subsequence.
  static func longestIncreasing(_ values: [Int]) -> [Int] {
    // The last index of the best subsequence of each length, and each index's predecessor.
    var ends: [Int] = []
    var previous: [Int?] = []
    for (index, value) in values.enumerated() {
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if values[ends[middle]] < value { low = middle + 1 } else { high = middle }
      }
      previous.append(low == 0 ? nil : ends[low - 1])
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var chain: [Int] = []
    var next = ends.last
    while let index = next {
      chain.append(index)
      next = previous[index]
    }
    return chain.reversed()
  }
}
