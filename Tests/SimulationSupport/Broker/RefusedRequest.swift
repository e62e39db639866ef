import Kafka

/// What a broker answers instead of doing what it was asked.
struct RefusedRequest: Error {
  let code: KafkaErrorCode
  /// The id to join with, where one is required.
  var memberID = ""

  init(_ code: KafkaErrorCode, memberID: String = "") {
    self.code = code
    self.memberID = memberID
  }
}
