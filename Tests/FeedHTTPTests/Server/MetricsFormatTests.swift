import Diagnostics
import Testing

@testable import FeedHTTP

struct MetricsFormatTests {
  @Test(arguments: [
    (nil, MetricsFormat.prometheus), ("*/*", .prometheus), ("text/plain", .prometheus),
    ("application/openmetrics-text", .openMetrics), ("image/png", .prometheus),
    ("text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.8", .openMetrics),
    // The header of Prometheus 2.42.
    (
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;"
        + "version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
    ),
  ])
  func `a client gets its preferred format`(accept: String?, format: MetricsFormat) {
    #expect(MetricsFormat(accept: accept) == format)
  }
}
