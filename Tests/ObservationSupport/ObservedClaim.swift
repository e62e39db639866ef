public import FeedTestSupport

/// A changeset's claim about a feed after an input record, to compare with the oracle.
public struct ObservedClaim: Sendable, Hashable {
  public let key: OracleFeedKey
  public let through: [String: Int]
  public let checksum: String

  public init(key: OracleFeedKey, through: [String: Int], checksum: String) {
    self.key = key
    self.through = through
    self.checksum = checksum
  }
}
