/// Every order of a list's elements.
public enum Permutations {
  /// All orders of the numbers below `count`, in lexicographic order.
  public static func of(_ count: Int) -> [[Int]] {
    of(Array(0..<count))
  }

  /// All orders of the elements, beginning with the given one.
  public static func of<Element>(_ elements: [Element]) -> [[Element]] {
    if elements.isEmpty { return [[]] }
    return elements.indices.flatMap { index -> [[Element]] in
      var others = elements
      let first = others.remove(at: index)
      return of(others).map { [first] + $0 }
    }
  }

  /// All orders of all subsets of the numbers below `count`.
  public static func ofSubsets(_ count: Int) -> [[Int]] {
    (0..<(1 << count)).flatMap { mask in of((0..<count).filter { mask >> $0 & 1 == 1 }) }
  }
}
