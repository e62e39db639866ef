/// One thing that FeedStore needs of a topic, and what is there.
public struct TopicRequirement: Sendable, Equatable, CustomStringConvertible {
  /// What it is about; the raw values of settings are Kafka's names.
  public enum Kind: String, Sendable, CaseIterable {
    case partitions
    case cleanupPolicy = "cleanup.policy"
    case messageBytes = "max.message.bytes"
    case dirtyRatio = "min.cleanable.dirty.ratio"
    case segmentTime = "segment.ms"
    case deletionTime = "delete.retention.ms"
    case retentionTime = "retention.ms"
    case retentionBytes = "retention.bytes"
  }

  public enum Verdict: String, Sendable {
    /// It is as needed.
    case met = "ok"
    /// What is there could not be read, or the topic is not there and will be created so.
    case unknown = "?"
    /// FeedStore works, but costs more than it has to, or bears less than it could.
    case should
    /// FeedStore cannot work, or loses something.
    case must
  }

  public let topic: String
  public let kind: Kind
  public let verdict: Verdict
  /// What is there; nil if it is not known.
  public let actual: String?
  public let needed: String
  /// Why it is needed.
  public let reason: String
  /// What to do about it.
  public let remedy: String

  public var isMismatch: Bool { verdict == .must || verdict == .should }

  public var description: String {
    "\(topic): \(kind.rawValue) \(actual ?? "not known"), needed \(needed), as \(reason); \(remedy)"
  }
}
