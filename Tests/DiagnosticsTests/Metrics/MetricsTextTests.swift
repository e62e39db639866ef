import Testing

@testable import Diagnostics

/// Metric families in the formats of Prometheus and OpenMetrics.
@Suite struct MetricsTextTests {
  private var families: [MetricFamily] {
    var requests = MetricFamily(.counter, "requests", help: "Requests, \"all\" of \\ them,\nand more.")
    requests.add(12, ["path": "a\"b\\c\nd", "code": "200"])
    requests.add(3, ["path": "", "code": "500"])
    var memory = MetricFamily(.gauge, "memory_bytes", help: "Bytes.")
    memory.add(1.5)
    var time = Histogram([0.1, 1, 10])
    time.observe(0.1)
    time.observe(0.5, times: 2)
    time.observe(100)
    var seconds = MetricFamily(.histogram, "call_seconds", help: "Calls.")
    seconds.add(time, ["call": "commit"])
    var trips = MetricFamily(.summary, "trip_seconds", help: "Trips.")
    trips.add(sum: 2.5, count: 5, quantiles: [(0.5, 0.25), (0.99, 1)], ["broker": "1"])
    var build = MetricFamily(.info, "build", help: "The build.")
    build.add(1, ["version": "1.2"])
    return [requests, memory, seconds, trips, build, MetricFamily(.gauge, "nothing", help: "No samples.")]
  }

  /// Lines of one format begin with its letter.
  private static let lines = #"""
    P# HELP requests_total Requests, "all" of \\ them,\nand more.
    P# TYPE requests_total counter
    O# HELP requests Requests, \"all\" of \\ them,\nand more.
    O# TYPE requests counter
    requests_total{path="a\"b\\c\nd",code="200"} 12
    requests_total{path="",code="500"} 3
    # HELP memory_bytes Bytes.
    # TYPE memory_bytes gauge
    O# UNIT memory_bytes bytes
    memory_bytes 1.5
    # HELP call_seconds Calls.
    # TYPE call_seconds histogram
    O# UNIT call_seconds seconds
    call_seconds_bucket{call="commit",le="0.1"} 1
    call_seconds_bucket{call="commit",le="1.0"} 3
    call_seconds_bucket{call="commit",le="10.0"} 3
    call_seconds_bucket{call="commit",le="+Inf"} 4
    call_seconds_sum{call="commit"} 101.1
    call_seconds_count{call="commit"} 4
    # HELP trip_seconds Trips.
    # TYPE trip_seconds summary
    O# UNIT trip_seconds seconds
    trip_seconds{broker="1",quantile="0.5"} 0.25
    trip_seconds{broker="1",quantile="0.99"} 1
    trip_seconds_sum{broker="1"} 2.5
    trip_seconds_count{broker="1"} 5
    P# HELP build_info The build.
    P# TYPE build_info gauge
    O# HELP build The build.
    O# TYPE build info
    build_info{version="1.2"} 1
    O# EOF

    """#

  /// Prometheus's format has sample names, and no escaped quotes in help. OpenMetrics has family names, units, escaped
  /// quotes in help, and an end.
  @Test(arguments: [(MetricsFormat.prometheus, "P", "O"), (.openMetrics, "O", "P")])
  func `each format has its own heads`(format: MetricsFormat, letter: String, other: String) {
    let lines = Self.lines.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix(other) }.map { $0.hasPrefix(letter) ? $0.dropFirst() : $0 }
    #expect(MetricsText.write(families, format) == lines.joined(separator: "\n"))
  }

  @Test(arguments: [
    (0.0, "0"), (-3, "-3"), (0.25, "0.25"), (9_007_199_254_740_991, "9007199254740991"),
    (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
  ])
  func `both formats can read the numbers`(value: Double, text: String) {
    #expect(MetricsText.number(value) == text)
  }
}
