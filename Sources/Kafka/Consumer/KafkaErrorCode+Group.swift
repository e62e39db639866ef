import CRdkafka

extension KafkaErrorCode {
  /// The members of the group use different assignment strategies.
  public static let inconsistentGroupProtocol = KafkaErrorCode(
    RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL
  )
}
