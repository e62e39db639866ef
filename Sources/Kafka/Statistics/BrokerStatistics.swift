/// A client's statistics of one connection to a broker. Totals start when the client is created.
public struct BrokerStatistics: Sendable, Equatable {
  /// The broker's id; -1 for an address that is known only from the configuration. A connection to a coordinator has
  /// the id of its broker.
  public var number: Int32 = -1
  /// Requests that are queued.
  public var queuedRequests = 0
  /// Requests that await a response.
  public var requestsInFlight = 0
  /// Failed sends and unreadable responses.
  public var errors = 0
  /// Requests that timed out.
  public var timeouts = 0
  /// Requests that were retried.
  public var retries = 0
  /// Connections that were lost or could not be made.
  public var disconnects = 0
  /// Round-trip times since the previous statistics, in microseconds.
  public var roundTrips = RoundTrips()

  /// Round-trip times of one interval, in microseconds.
  public struct RoundTrips: Sendable, Equatable {
    public var count = 0
    public var sum = 0
    public var median = 0
    /// The 99th percentile.
    public var percentile99 = 0

    public init() {}
  }

  public init() {}

  mutating func read(_ scanner: inout StatisticsScanner) {
    scanner.object { scanner, name in
      if name.equals("nodeid") {
        number = Int32(truncatingIfNeeded: scanner.integer())
      } else if name.equals("outbuf_cnt") {
        queuedRequests = scanner.integer()
      } else if name.equals("waitresp_cnt") {
        requestsInFlight = scanner.integer()
      } else if name.equals("txerrs") || name.equals("rxerrs") {
        errors += scanner.integer()
      } else if name.equals("req_timeouts") {
        timeouts = scanner.integer()
      } else if name.equals("txretries") {
        retries = scanner.integer()
      } else if name.equals("disconnects") {
        disconnects = scanner.integer()
      } else if name.equals("rtt") {
        roundTrips.read(&scanner)
      } else {
        scanner.skip()
      }
    }
  }
}

extension BrokerStatistics.RoundTrips {
  fileprivate mutating func read(_ scanner: inout StatisticsScanner) {
    scanner.object { scanner, name in
      if name.equals("cnt") {
        count = scanner.integer()
      } else if name.equals("sum") {
        sum = scanner.integer()
      } else if name.equals("p50") {
        median = scanner.integer()
      } else if name.equals("p99") {
        percentile99 = scanner.integer()
      } else {
        scanner.skip()
      }
    }
  }
}
