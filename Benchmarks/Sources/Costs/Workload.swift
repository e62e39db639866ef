/// Work whose cost is counted.
protocol Workload {
  /// Work before the counted part.
  mutating func prepare() async
  /// The counted part.
  mutating func run() async
  /// Checks afterwards that the result is the expected one.
  func check() async
  /// The number of changes, items or records, by which counts are divided.
  var operationCount: Int { get }
}
