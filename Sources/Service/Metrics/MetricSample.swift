/// One line of a metric family: what distinguishes it, and its number.
public struct MetricSample: Sendable, Equatable {
  /// What follows the family's name in this line, such as `_bucket`; empty for most.
  let suffix: String
  /// Names and values, in the order in which they are written.
  let labels: [MetricLabel]
  let value: Double
}
