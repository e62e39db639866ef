/// How long to ask again for topics that brokers do not tell of, and when to say so: a state machine that is told the time.
///
/// The brokers of a cluster hear of a new topic one after the other, so the one that answers may not have heard of a
/// topic that has just been created.
public struct TopicWait: Sendable {
  /// What to do after an answer without a topic.
  public enum Step: Sendable, Equatable {
    /// Ask again, after a pause.
    case ask
    /// The same, and say how many seconds are left, rounded up.
    case askAndTell(remainingSeconds: Int64)
    case giveUp
  }

  /// Between two questions.
  public static let pauseMilliseconds: Int32 = 100
  private static let tellMilliseconds: Int64 = 5_000

  private let milliseconds: Int64
  /// When it is over; nil before the first answer without a topic.
  private var end: Int64?
  private var lastTelling: Int64?

  /// - Parameter milliseconds: how long it lasts, from the first answer without a topic.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// What to do after an answer without a topic.
  ///
  /// - Parameter now: milliseconds of a clock that nobody sets.
  public mutating func step(at now: Int64) -> Step {
    let (sum, isForEver) = now.addingReportingOverflow(milliseconds)
    let end = end ?? (isForEver ? .max : sum)
    self.end = end
    guard now < end else { return .giveUp }
    if let lastTelling, now - lastTelling < Self.tellMilliseconds { return .ask }
    lastTelling = now
    return .askAndTell(remainingSeconds: (end - now - 1) / 1_000 + 1)
  }
}
