/// How long to keep asking for topics that brokers do not know, and when to log it: a state machine without a clock.
///
/// The brokers of a cluster learn of a new topic one after the other, so the broker that answers may not know it yet.
public struct TopicWait: Sendable {
  /// What to do after a response without a topic.
  public enum Step: Sendable, Equatable {
    /// Ask again, after a pause.
    case ask
    /// Ask again after a pause, and log the remaining seconds, rounded up.
    case askAndTell(remainingSeconds: Int64)
    case giveUp
  }

  /// The pause between two requests.
  public static let pauseMilliseconds: Int32 = 100
  private static let tellMilliseconds: Int64 = 5_000

  private let milliseconds: Int64
  /// When the wait ends; nil before the first response without a topic.
  private var end: Int64?
  private var lastTelling: Int64?

  /// - Parameter milliseconds: the length of the wait, from the first response without a topic.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Decides what to do after a response without a topic.
  ///
  /// - Parameter now: milliseconds of a monotonic clock.
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
