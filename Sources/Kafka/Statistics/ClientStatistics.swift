/// What a client tells of itself each `statistics.interval.ms` (librdkafka's `STATISTICS.md`), as far as it is used.
public struct ClientStatistics: Sendable, Equatable {
  /// News that wait for the client's owner to poll.
  public var queuedOperations = 0
  /// Of a producer: records that are queued or on their way, and their bytes.
  public var producedMessages = 0
  public var producedBytes = 0
  /// Of a consumer: records that were fetched ahead, and their bytes.
  public var fetchedMessages = 0
  public var fetchedBytes = 0
  public var brokers: [BrokerStatistics] = []

  public init() {}

  /// - Parameter json: librdkafka's text. What is missing in it is 0; what is no such text is read as far as it goes.
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
