/// Observations, counted by size. A plain value: whoever shares it between threads guards it.
public struct Histogram: Sendable, Equatable {
  /// The greatest value of each bucket, ascending; a last bucket has what is greater than all of them.
  public let bounds: [Double]
  /// Observations in each bucket; one more than there are bounds.
  public private(set) var counts: [Int]
  /// Of all observations.
  public private(set) var sum = 0.0

  /// - Parameter bounds: ascending.
  public init(_ bounds: [Double]) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "the bounds \(bounds) do not ascend")
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// How many observations there are.
  public var count: Int { counts.reduce(0, +) }

  /// Adds observations of one value.
  public mutating func observe(_ value: Double, times: Int = 1) {
    // Few bounds, of which the first are met most often.
    let index = bounds.firstIndex { value <= $0 } ?? bounds.count
    counts[index] += times
    sum += value * Double(times)
  }

  /// Adds another histogram's observations.
  ///
  /// - Parameter other: with the same bounds.
  public mutating func add(_ other: Histogram) {
    precondition(bounds == other.bounds, "histograms with different bounds are added")
    for index in counts.indices { counts[index] += other.counts[index] }
    sum += other.sum
  }
}
