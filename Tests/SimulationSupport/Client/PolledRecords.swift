public import Kafka

/// What one poll brings.
public struct PolledRecords {
  public enum Event: Equatable {
    case end(TopicPartition, offset: Int64)
    case error(KafkaError)
  }

  public var records: [(partition: TopicPartition, offset: Int64, record: SimulatedRecord)] = []
  public var events: [Event] = []
  public var rebalance: SimulatedRebalance?

  public init() {}
}
