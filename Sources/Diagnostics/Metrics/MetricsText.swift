/// Writes metric families as text.
package struct MetricsText: Sendable {
  private let format: MetricsFormat
  private var lines = ""

  /// The text of metric families with distinct names.
  package static func write(_ families: [MetricFamily], _ format: MetricsFormat) -> String {
    var text = MetricsText(format: format)
    for family in families { text.add(family) }
    if format == .openMetrics { text.lines += "# EOF\n" }
    return text.lines
  }

  private init(format: MetricsFormat) { self.format = format }

  private mutating func add(_ family: MetricFamily) {
    // A family without samples is omitted.
    if family.samples.isEmpty { return }
    // Prometheus's format has only sample names; in OpenMetrics, the family's name has no suffix.
    let name = family.name + (format == .prometheus ? family.kind.suffix : "")
    let type = format == .prometheus && family.kind == .info ? "gauge" : family.kind.rawValue
    // Only OpenMetrics requires escaped quotes here.
    let help = Self.escaped(family.help, quotes: format == .openMetrics)
    lines += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    if format == .openMetrics, !family.unit.isEmpty { lines += "# UNIT \(name) \(family.unit)\n" }
    for sample in family.samples {
      lines += family.name
      lines += sample.suffix
      add(sample.labels)
      lines += " "
      lines += Self.number(sample.value)
      lines += "\n"
    }
  }

  private mutating func add(_ labels: [MetricLabel]) {
    if labels.isEmpty { return }
    var separator = "{"
    for label in labels {
      lines += separator
      lines += label.name
      lines += "=\""
      lines += Self.escaped(label.value, quotes: true)
      lines += "\""
      separator = ","
    }
    lines += "}"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || quotes && $0 == 0x22 }) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// A number in a form that both formats accept.
  static func number(_ value: Double) -> String {
    if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
    return bound(value)
  }

  /// A number that always has a point or an exponent, as OpenMetrics requires in `le` and `quantile`. Labels must not
  /// depend on the format, so both use it.
  static func bound(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return value.description
  }
}

package enum MetricsFormat: Sendable, CaseIterable {
  /// Prometheus's text format, version 0.0.4.
  case prometheus
  case openMetrics

  /// The value of `Content-Type`.
  package var contentType: String {
    switch self {
    case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    }
  }
}

/// Samples with a common name and meaning.
///
/// ```swift
/// var requests = MetricFamily(.counter, "http_requests", help: "Requests that were answered.")
/// requests.add(12, ["status": "200"])
/// ```
package struct MetricFamily: Sendable, Equatable {
  package let kind: MetricKind
  /// The name without a counter's `_total` or an info's `_info`.
  package let name: String
  /// A Prometheus base unit, such as `seconds`, with which the name ends; empty for counts.
  package var unit: String { ["bytes", "seconds"].first { name.hasSuffix("_" + $0) } ?? "" }
  /// A sentence for users.
  package let help: String
  package private(set) var samples: [MetricSample] = []

  /// - Parameter name: a valid Prometheus name; an invalid one is a programming error and ends the process.
  package init(_ kind: MetricKind, _ name: String, help: String) {
    precondition(Self.isName(name), "\(name.debugDescription) cannot be a metric's name")
    precondition(!name.hasSuffix("_total") && !name.hasSuffix("_info"), "\(name) already has its suffix")
    self.kind = kind
    self.name = name
    self.help = help
  }

  /// Adds a sample of a counter, a gauge or an info.
  package mutating func add(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
    precondition(kind != .histogram && kind != .summary, "\(name) has no plain samples")
    append(kind.suffix, Self.list(labels), value)
  }

  package mutating func add(_ value: some BinaryInteger, _ labels: KeyValuePairs<String, String> = [:]) {
    add(Double(value), labels)
  }

  package mutating func add(_ histogram: Histogram, _ labels: KeyValuePairs<String, String> = [:]) {
    precondition(kind == .histogram, "\(name) is not a histogram")
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

  package mutating func add(
    sum: Double,
    count: Int,
    quantiles: [(quantile: Double, value: Double)],
    _ labels: KeyValuePairs<String, String> = [:]
  ) {
    precondition(kind == .summary, "\(name) is not a summary")
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
    guard let first = text.first, !first.isNumber else { return false }
    return text.allSatisfy { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
  }
}

/// The type of a metric family.
package enum MetricKind: String, Sendable {
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

  /// The suffix of a plain sample's name after the family's.
  fileprivate var suffix: String { self == .counter ? "_total" : self == .info ? "_info" : "" }
}

package struct MetricLabel: Sendable, Equatable {
  let name: String
  /// Any text.
  let value: String

  /// - Parameter name: letters, digits and underscores, not beginning with a digit; an invalid name ends the process.
  init(_ name: String, _ value: String) {
    precondition(MetricFamily.isName(name), "\(name.debugDescription) cannot be a label's name")
    self.name = name
    self.value = value
  }
}

/// One line of a metric family: its labels and its value.
package struct MetricSample: Sendable, Equatable {
  /// The suffix after the family's name, such as `_bucket`; usually empty.
  let suffix: String
  /// The labels, in the order of output.
  let labels: [MetricLabel]
  let value: Double
}

/// A histogram of observations. A plain value; protect it if threads share it.
package struct Histogram: Sendable, Equatable {
  /// The upper bound of each bucket, ascending; a last bucket counts larger values.
  package let bounds: [Double]
  /// The number of observations in each bucket; one more than `bounds`.
  package private(set) var counts: [Int]
  package private(set) var sum = 0.0

  /// - Parameter bounds: the upper bounds, ascending.
  package init(_ bounds: [Double]) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "the bounds \(bounds) do not ascend")
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  package var count: Int { counts.reduce(0, +) }

  /// Adds observations of one value.
  package mutating func observe(_ value: Double, times: Int = 1) {
    // A linear search: there are few bounds, and the first ones are hit most often.
    let index = bounds.firstIndex { value <= $0 } ?? bounds.count
    counts[index] += times
    sum += value * Double(times)
  }

  /// Adds the observations of another histogram, which has the same bounds.
  package mutating func add(_ other: Histogram) {
    precondition(bounds == other.bounds, "histograms with different bounds are added")
    for index in counts.indices { counts[index] += other.counts[index] }
    sum += other.sum
  }
}
