import FoundationEssentials

/// The used part of the statistics that a client reports every `statistics.interval.ms` (librdkafka's
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

  /// Reads librdkafka's JSON, about a megabyte for a thousand partitions: some 10 ms.
  init(json: Data) throws {
    let report = try JSONDecoder().decode(StatisticsReport.self, from: json)
    queuedOperations = report.replyq
    producedMessages = report.messages
    producedBytes = report.bytes
    brokers = Array(report.brokers.values)
    for partition in report.topics.values.lazy.flatMap(\.partitions.values) {
      fetchedMessages += partition.messages
      fetchedBytes += partition.bytes
    }
  }
}

/// A client's statistics of one connection to a broker. Totals start when the client is created.
public struct BrokerStatistics: Sendable, Equatable, Decodable {
  /// The broker's id; -1 for an address that is known only from the configuration. A coordinator's connection has
  /// its broker's id.
  public var number: Int32 = -1
  public var queuedRequests = 0
  /// Requests that await a response.
  public var requestsInFlight = 0
  public var errors: Int { failedSends + unreadableResponses }
  public var failedSends = 0
  public var unreadableResponses = 0
  /// Requests that timed out.
  public var timeouts = 0
  public var retries = 0
  /// Connections that were lost or could not be made.
  public var disconnects = 0
  /// Round-trip times since the previous statistics, in microseconds.
  public var roundTrips = RoundTrips()

  /// Round-trip times of one interval, in microseconds.
  public struct RoundTrips: Sendable, Equatable, Decodable {
    public var count = 0
    public var sum = 0
    public var median = 0
    public var percentile99 = 0

    private enum CodingKeys: String, CodingKey {
      case count = "cnt"
      case sum
      case median = "p50"
      case percentile99 = "p99"
    }
  }

  public init() {}

  private enum CodingKeys: String, CodingKey {
    case number = "nodeid"
    case queuedRequests = "outbuf_cnt"
    case requestsInFlight = "waitresp_cnt"
    case failedSends = "txerrs"
    case unreadableResponses = "rxerrs"
    case timeouts = "req_timeouts"
    case retries = "txretries"
    case disconnects
    case roundTrips = "rtt"
  }
}

/// The form of librdkafka's report.
private struct StatisticsReport: Decodable {
  let replyq: Int
  let messages: Int
  let bytes: Int
  let brokers: [String: BrokerStatistics]
  let topics: [String: Topic]

  struct Topic: Decodable {
    let partitions: [String: Partition]
  }

  struct Partition: Decodable {
    let messages: Int
    let bytes: Int

    private enum CodingKeys: String, CodingKey {
      case messages = "fetchq_cnt"
      case bytes = "fetchq_size"
    }
  }

  private enum CodingKeys: String, CodingKey {
    case replyq
    case messages = "msg_cnt"
    case bytes = "msg_size"
    case brokers, topics
  }
}
