/// Work whose cost is counted.
protocol Workload {
  /// What is done before, and does not count.
  mutating func prepare() async
  /// What counts.
  mutating func run() async
  /// Checks afterwards that the work was what it is meant to be.
  func check() async
  /// How many changes, items or records there were, by which counts are divided.
  var operationCount: Int { get }
}
