/// The statistics that a client reports every `statistics.interval.ms`, as far as they are used (librdkafka's
/// `STATISTICS.md`).
public struct ClientStatistics: Sendable, Equatable {
  /// Events that wait for the client's owner to poll.
  public var queuedOperations = 0
  /// For a producer: records that are queued or in flight, and their bytes.
  public var producedMessages = 0
  public var producedBytes = 0
  /// For a consumer: prefetched records, and their bytes.
  public var fetchedMessages = 0
  public var fetchedBytes = 0
  public var brokers: [BrokerStatistics] = []

  public init() {}

  /// - Parameter json: librdkafka's text. Missing values are 0; invalid text is read as far as possible.
  init(json: UnsafeRawBufferPointer) {
    var scanner = StatisticsScanner(json)
    scanner.object { scanner, name in
      if name.equals("replyq") {
        queuedOperations = scanner.integer()
      } else if name.equals("msg_cnt") {
        producedMessages = scanner.integer()
      } else if name.equals("msg_size") {
        producedBytes = scanner.integer()
      } else if name.equals("brokers") {
        scanner.object { scanner, _ in
          var broker = BrokerStatistics()
          broker.read(&scanner)
          brokers.append(broker)
        }
      } else if name.equals("topics") {
        scanner.object { scanner, _ in readTopic(&scanner) }
      } else {
        scanner.skip()
      }
    }
  }

  private mutating func readTopic(_ scanner: inout StatisticsScanner) {
    scanner.object { scanner, name in
      guard name.equals("partitions") else { return scanner.skip() }
      scanner.object { scanner, _ in
        scanner.object { scanner, name in
          if name.equals("fetchq_cnt") {
            fetchedMessages += scanner.integer()
          } else if name.equals("fetchq_size") {
            fetchedBytes += scanner.integer()
          } else {
            scanner.skip()
          }
        }
      }
    }
  }
}

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
