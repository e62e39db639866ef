/// Suggests the intended name for a misspelt one.
package enum NearestName {
  private static let mostLetters = 64

  /// The candidate nearest to a name; nil if none is near enough.
  ///
  /// A candidate is near enough if the edit distance is at most a third of the longer name's length, or at most two.
  /// Among equally near candidates, the alphabetically first wins. A name of more than 64 characters is near to none.
  package static func suggestion(for name: String, among candidates: some Sequence<String>) -> String? {
    guard name.utf8.count <= 4 * mostLetters, name.count <= mostLetters else { return nil }
    let wanted = Array(name.lowercased().utf8)
    var best: (name: String, distance: Int)?
    for candidate in candidates.sorted() {
      let letters = Array(candidate.lowercased().utf8)
      let most = max(2, max(wanted.count, letters.count) / 3)
      guard abs(wanted.count - letters.count) <= most else { continue }
      let distance = editDistance(wanted, letters)
      guard distance <= most, distance < letters.count else { continue }
      if distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.name
  }

  /// The optimal string alignment distance: the number of insertions, deletions, substitutions and swaps of neighbours
  /// that turn one word into the other.
  static func editDistance<Letter: Equatable>(_ first: [Letter], _ second: [Letter]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...second.count)
    for row in 0..<first.count {
      var current = [row + 1]
      current.reserveCapacity(second.count + 1)
      for column in 0..<second.count {
        let substitution = previous[column] + (first[row] == second[column] ? 0 : 1)
        var distance = min(substitution, previous[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
          distance = min(distance, beforePrevious[column - 1] + 1)
        }
        current.append(distance)
      }
      beforePrevious = previous
      previous = current
    }
    return previous[second.count]
  }
}
