/// One of FeedStore's requirements on a topic, and whether it is met.
public struct TopicRequirement: Sendable, Equatable, CustomStringConvertible {
  /// The subject; the raw values of settings are Kafka's names.
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
    /// The requirement is met.
    case met = "ok"
    /// The actual value could not be read, or the topic does not exist and will be created with the required value.
    case unknown = "?"
    /// FeedStore works, but at a higher cost or with less safety.
    case should
    /// FeedStore cannot work, or loses data.
    case must
  }

  public let topic: String
  public let kind: Kind
  public let verdict: Verdict
  /// The actual value; nil if it is not known.
  public let actual: String?
  public let needed: String
  /// Why the requirement exists.
  public let reason: String
  /// What to do about it.
  public let remedy: String

  public var isMismatch: Bool { verdict == .must || verdict == .should }

  public var description: String {
    "\(topic): \(kind.rawValue) \(actual ?? "not known"), needed \(needed), as \(reason); \(remedy)"
  }
}
