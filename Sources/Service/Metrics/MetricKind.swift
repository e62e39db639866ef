/// What the numbers of a metric family mean.
public enum MetricKind: String, Sendable {
  /// A total that only grows, until the process starts again.
  case counter
  /// A number that goes up and down.
  case gauge
  /// Observations counted in buckets; see ``Histogram``.
  case histogram
  /// A sum and a count of observations, with quantiles of the recent ones.
  case summary
  /// Facts, as labels of a sample that is always 1.
  case info
}
