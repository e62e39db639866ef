import Kafka

/// Codes of the protocol that only brokers and the insides of clients speak of.
extension KafkaErrorCode {
  static let offsetOutOfRange = KafkaErrorCode(rawValue: 1)
  static let rebalanceInProgress = KafkaErrorCode(rawValue: 27)
  static let outOfOrderSequence = KafkaErrorCode(rawValue: 45)
  static let invalidProducerMapping = KafkaErrorCode(rawValue: 49)
  static let memberIDRequired = KafkaErrorCode(rawValue: 79)
}
