/// A histogram of observations. A plain value; protect it if threads share it.
public struct Histogram: Sendable, Equatable {
  /// The upper bound of each bucket, ascending; a last bucket counts larger values.
  public let bounds: [Double]
  /// The number of observations in each bucket; one more than `bounds`.
  public private(set) var counts: [Int]
  /// The sum of all observations.
  public private(set) var sum = 0.0

  /// - Parameter bounds: the upper bounds, ascending.
  public init(_ bounds: [Double]) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "the bounds \(bounds) do not ascend")
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// The number of observations.
  public var count: Int { counts.reduce(0, +) }

  /// Adds observations of one value.
  public mutating func observe(_ value: Double, times: Int = 1) {
    // A linear search: there are few bounds, and the first ones are hit most often.
    let index = bounds.firstIndex { value <= $0 } ?? bounds.count
    counts[index] += times
    sum += value * Double(times)
  }

  /// Adds another histogram's observations.
  ///
  /// - Parameter other: a histogram with the same bounds.
  public mutating func add(_ other: Histogram) {
    precondition(bounds == other.bounds, "histograms with different bounds are added")
    for index in counts.indices { counts[index] += other.counts[index] }
    sum += other.sum
  }
}
