/// One line of a metric family: its labels and its value.
public struct MetricSample: Sendable, Equatable {
  /// The suffix after the family's name, such as `_bucket`; usually empty.
  let suffix: String
  /// The labels, in the order of output.
  let labels: [MetricLabel]
  let value: Double
}
