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
