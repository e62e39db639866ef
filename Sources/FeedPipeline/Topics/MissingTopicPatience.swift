import Service

/// How long to ask again for topics that brokers do not tell of.
///
/// The brokers of a cluster hear of a new topic one after the other, so the one that answers may not have heard of a
/// topic that has just been created.
struct MissingTopicPatience: Sendable {
  /// Between two questions.
  static let pauseMilliseconds: Int32 = 100
  private static let milliseconds: Int64 = 10_000

  /// When it is over; nil before the first answer without a topic.
  private var end: Int64?

  /// Whether to ask again after an answer without these topics; the first time the log says so.
  ///
  /// - Parameter now: milliseconds of a clock that nobody sets.
  mutating func lasts(for topics: [String], at now: Int64, _ log: Log) -> Bool {
    guard let end else {
      end = now + Self.milliseconds
      log.write(.startupWaitingForTopics, "waiting for topics", ["missing": topics.joined(separator: ",")])
      return true
    }
    return now < end
  }
}
