/// Writes metric families as text.
public struct MetricsText: Sendable {
  private let format: MetricsFormat
  private var lines = ""

  /// The text of metric families.
  ///
  /// - Parameter families: families with distinct names.
  public static func write(_ families: [MetricFamily], _ format: MetricsFormat) -> String {
    var text = MetricsText(format: format)
    for family in families { text.add(family) }
    if format == .openMetrics { text.lines += "# EOF\n" }
    return text.lines
  }

  private init(format: MetricsFormat) { self.format = format }

  private mutating func add(_ family: MetricFamily) {
    // A family without samples is omitted.
    if family.samples.isEmpty { return }
    let name = headName(of: family)
    let type = format == .prometheus && family.kind == .info ? "gauge" : family.kind.rawValue
    lines += "# HELP \(name) \(escapedHelp(family.help))\n# TYPE \(name) \(type)\n"
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

  /// Prometheus's format has only sample names; in OpenMetrics, the family's name has no suffix.
  private func headName(of family: MetricFamily) -> String {
    switch (format, family.kind) {
    case (.prometheus, .counter): family.name + "_total"
    case (.prometheus, .info): family.name + "_info"
    default: family.name
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

  private func escapedHelp(_ text: String) -> String {
    // Only OpenMetrics requires escaped quotes here.
    Self.escaped(text, quotes: format == .openMetrics)
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
