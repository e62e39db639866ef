/// Finds what was probably meant by a misspelt name.
enum NearestName {
  /// The candidate nearest to a name, or nil when none is near enough to be worth suggesting.
  ///
  /// Near enough is at most a third of the longer name's characters, and at least two, changed. Of equally
  /// near candidates the first in alphabetical order is taken.
  static func suggestion(for name: String, among candidates: some Sequence<String>) -> String? {
    let wanted = Array(name.lowercased())
    var best: (name: String, distance: Int)?
    for candidate in candidates.sorted() {
      let letters = Array(candidate.lowercased())
      let distance = editDistance(wanted, letters)
      guard distance <= max(2, max(wanted.count, letters.count) / 3), distance < letters.count else {
        continue
      }
      if distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.name
  }

  /// How many insertions, deletions, substitutions and swaps of neighbours turn one word into the other
  /// (the optimal string alignment distance).
  static func editDistance(_ first: [Character], _ second: [Character]) -> Int {
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
