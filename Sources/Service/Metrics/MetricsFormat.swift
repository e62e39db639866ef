/// The format of metrics.
public enum MetricsFormat: Sendable, CaseIterable {
  /// Prometheus's text format, version 0.0.4.
  case prometheus
  /// OpenMetrics 1.0.
  case openMetrics

  /// The value of `Content-Type`.
  public var contentType: String {
    switch self {
    case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    }
  }

  /// The client's preferred format; Prometheus's if it accepts neither, because scrapers read it in any case.
  ///
  /// - Parameter accept: the value of `Accept`; nil if it is absent.
  public init(accept: String?) {
    let types = Self.allCases.map(\.contentType)
    let best = QualityList(accept ?? "*/*").best(of: types)
    self = Self.allCases.first { $0.contentType == best } ?? .prometheus
  }
}
