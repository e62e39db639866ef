import CRdkafka

extension KafkaErrorCode {
  /// The members of the group do not share out partitions in the same way.
  public static let inconsistentGroupProtocol = KafkaErrorCode(
    RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL
  )
}
