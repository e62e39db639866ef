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
      switch name {
      case "replyq": queuedOperations = scanner.integer()
      case "msg_cnt": producedMessages = scanner.integer()
      case "msg_size": producedBytes = scanner.integer()
      case "brokers":
        scanner.object { scanner, _ in
          var broker = BrokerStatistics()
          broker.read(&scanner)
          brokers.append(broker)
        }
      case "topics": scanner.object { scanner, _ in readTopic(&scanner) }
      default: scanner.skip()
      }
    }
  }

  private mutating func readTopic(_ scanner: inout StatisticsScanner) {
    scanner.object { scanner, name in
      guard "partitions" ~= name else { return scanner.skip() }
      scanner.object { scanner, _ in
        scanner.object { scanner, name in
          switch name {
          case "fetchq_cnt": fetchedMessages += scanner.integer()
          case "fetchq_size": fetchedBytes += scanner.integer()
          default: scanner.skip()
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
      switch name {
      case "nodeid": number = Int32(truncatingIfNeeded: scanner.integer())
      case "outbuf_cnt": queuedRequests = scanner.integer()
      case "waitresp_cnt": requestsInFlight = scanner.integer()
      case "txerrs", "rxerrs": errors += scanner.integer()
      case "req_timeouts": timeouts = scanner.integer()
      case "txretries": retries = scanner.integer()
      case "disconnects": disconnects = scanner.integer()
      case "rtt": roundTrips.read(&scanner)
      default: scanner.skip()
      }
    }
  }
}

extension BrokerStatistics.RoundTrips {
  fileprivate mutating func read(_ scanner: inout StatisticsScanner) {
    scanner.object { scanner, name in
      switch name {
      case "cnt": count = scanner.integer()
      case "sum": sum = scanner.integer()
      case "p50": median = scanner.integer()
      case "p99": percentile99 = scanner.integer()
      default: scanner.skip()
      }
    }
  }
}
