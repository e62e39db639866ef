/// The type of a metric family.
public enum MetricKind: String, Sendable {
  /// A total that only grows until the process restarts.
  case counter
  /// A value that can rise and fall.
  case gauge
  /// Observations counted in buckets; see ``Histogram``.
  case histogram
  /// The sum and count of observations, with quantiles of recent ones.
  case summary
  /// Facts, as labels of a sample that is always 1.
  case info
}
