public import Kafka

/// What befalls one request.
public enum Fate: Sendable, Equatable {
  /// The connection breaks before it arrives.
  case lost
  /// It is done, and the connection breaks before the answer arrives.
  case answerLost
  /// It arrives so many milliseconds later, maybe long after its sender has given up.
  case late(Int64)
  /// It is done at once, and the answer takes so many milliseconds.
  case slowAnswer(Int64)
  /// It arrives twice: again after so many milliseconds, from a connection that was given up.
  case twice(Int64)
  /// The broker refuses it.
  case refused(KafkaErrorCode)
  /// Its sender dies before it is sent.
  case senderDies
  /// Its sender dies as soon as it is sent.
  case senderDiesAfter
}
