/// Samples with a common name and meaning.
///
/// ```swift
/// var requests = MetricFamily(.counter, "http_requests", help: "Requests that were answered.")
/// requests.add(12, ["status": "200"])
/// ```
public struct MetricFamily: Sendable, Equatable {
  public let kind: MetricKind
  /// The name without `_total` of counters and `_info` of infos.
  public let name: String
  /// A Prometheus base unit, such as `seconds`, with which the name ends; empty for counts.
  public let unit: String
  /// A sentence for people.
  public let help: String
  public private(set) var samples: [MetricSample] = []

  /// - Parameter name: a valid Prometheus name; an invalid one is a programming error and ends the process.
  public init(_ kind: MetricKind, _ name: String, unit: String = "", help: String) {
    precondition(Self.isName(name), "\(name.debugDescription) cannot be a metric's name")
    precondition(unit.isEmpty || name.hasSuffix("_" + unit), "\(name) does not end with its unit \(unit)")
    precondition(!name.hasSuffix("_total") && !name.hasSuffix("_info"), "\(name) has its suffix already")
    self.kind = kind
    self.name = name
    self.unit = unit
    self.help = help
  }

  /// Adds a sample of a counter, a gauge or an info.
  public mutating func add(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
    let suffix: String
    switch kind {
    case .counter: suffix = "_total"
    case .info: suffix = "_info"
    case .gauge: suffix = ""
    case .histogram, .summary: preconditionFailure("\(name) has no plain samples")
    }
    append(suffix, Self.list(labels), value)
  }

  /// Adds a sample with an integer value.
  public mutating func add(_ value: some BinaryInteger, _ labels: KeyValuePairs<String, String> = [:]) {
    add(Double(value), labels)
  }

  /// Adds the samples of a histogram.
  public mutating func add(_ histogram: Histogram, _ labels: KeyValuePairs<String, String> = [:]) {
    precondition(kind == .histogram, "\(name) is no histogram")
    let labels = Self.list(labels)
    var total = 0
    for (index, count) in histogram.counts.enumerated() {
      total += count
      let bound = index < histogram.bounds.count ? histogram.bounds[index] : .infinity
      append("_bucket", labels + [MetricLabel("le", MetricsText.bound(bound))], Double(total))
    }
    append("_sum", labels, histogram.sum)
    append("_count", labels, Double(total))
  }

  /// Adds the samples of a summary.
  ///
  /// - Parameter quantiles: the quantiles with their values.
  public mutating func add(
    sum: Double,
    count: Int,
    quantiles: [(quantile: Double, value: Double)],
    _ labels: KeyValuePairs<String, String> = [:]
  ) {
    precondition(kind == .summary, "\(name) is no summary")
    let labels = Self.list(labels)
    for (quantile, value) in quantiles {
      append("", labels + [MetricLabel("quantile", MetricsText.bound(quantile))], value)
    }
    append("_sum", labels, sum)
    append("_count", labels, Double(count))
  }

  private mutating func append(_ suffix: String, _ labels: [MetricLabel], _ value: Double) {
    samples.append(MetricSample(suffix: suffix, labels: labels, value: value))
  }

  private static func list(_ labels: KeyValuePairs<String, String>) -> [MetricLabel] {
    labels.map { MetricLabel($0.key, $0.value) }
  }

  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return text.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
    }
  }
}
